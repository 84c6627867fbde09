//! Starts a child and waits for it.

use adjutant_core::{Delegation, Order, ToolError};

use super::{DelegationSettings, Style, result::Told};

/// Has a task done, or takes what came of it earlier, and puts it into words.
pub(super) async fn run(
    settings: &DelegationSettings,
    delegation: &dyn Delegation,
    order: Order,
    cache: Option<bool>,
) -> Result<String, ToolError> {
    let agent = order.agent.clone();
    let earlier = match settings.uses_earlier(cache) {
        true => delegation.recall(&order).await,
        false => None,
    };
    let is_earlier = earlier.is_some();
    let report = match earlier {
        Some(report) => report,
        None => {
            let started = delegation.start(order).await?;
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
        log: &log,
        earlier: is_earlier,
        read_on: settings.read_on(),
    })
}
