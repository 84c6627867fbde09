//! Starts a child and waits for it.

use adjutant_core::{Delegation, Order, ToolError};

use super::{
    DelegationSettings, Style,
    result::{Told, failed},
};

/// Has a task done, or takes what came of it earlier, and puts it into words.
pub(super) async fn run(
    settings: &DelegationSettings,
    delegation: &dyn Delegation,
    order: Order,
    cache: Option<bool>,
) -> Result<String, ToolError> {
    let (agent, limit) = (order.agent.clone(), order.limits.allowance.time());
    let earlier = match settings.uses_earlier(cache) {
        true => delegation.recall(&order).await,
        false => None,
    };
    let is_earlier = earlier.is_some();
    let report = match earlier {
        Some(report) => report,
        None => {
            let started = delegation.start(order).await.map_err(|refusal| match &agent {
                Some(agent) => ToolError(failed(agent, &refusal.to_string())),
                None => refusal.into(),
            })?;
            delegation.wait(&started.id.to_string()).await?
        }
    };
    let log = match settings.style {
        Style::Opal => delegation.transcript(&report.id.to_string())?,
        Style::Adjutant | Style::Opta | Style::Axe => Vec::new(),
    };
    settings.style.tell(&Told {
        report: &report,
        agent: agent.as_deref(),
        limit,
        log: &log,
        earlier: is_earlier,
        read_on: settings.read_on(),
    })
}
