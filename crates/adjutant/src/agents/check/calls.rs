//! Whom an agent calls.

use std::collections::{BTreeMap, VecDeque};

use adjutant_core::Access;

use super::{Definition, Findings, Linter};
use crate::{agents::definition::Callable, nearest::close};

impl Linter<'_> {
    /// Checks that those whom an agent calls are there, and can do what they are for.
    pub(super) fn check_calls(&self, definition: &Definition, findings: &mut Findings<'_>) {
        let Callable::Only(names) = &definition.callable else { return };
        for name in names {
            match self.agents.library.get(name) {
                Some(callee) => self.check_callee(definition, callee, findings),
                None => self.say_missing(name, findings),
            }
        }
        if let Some(path) = self.circle(&definition.name) {
            let next = path.get(1).cloned().unwrap_or_default();
            let why = format!("`sub_agents` leads back to the agent: {}", path.join(" -> "));
            findings.warn("sub_agents", &next, why).hint =
                Some("only depth ends that: see `sub_agents_config.max_depth`".to_owned());
        }
    }

    fn say_missing(&self, name: &str, findings: &mut Findings<'_>) {
        let library = &self.agents.library;
        let is_refused =
            library.entries.iter().any(|it| it.definition.is_none() && it.name() == name);
        if is_refused {
            let why = format!("`sub_agents` names `{name}`, whose file is refused");
            findings.wrong("sub_agents", name, why);
            return;
        }
        let others = library.iter().map(|it| it.name.as_str());
        let why = format!("`sub_agents` names `{name}`, and there is no such agent");
        findings.wrong("sub_agents", name, why).hint =
            close(name, others).map(|meant| format!("did you mean `{meant}`?"));
    }

    fn check_callee(&self, caller: &Definition, callee: &Definition, findings: &mut Findings<'_>) {
        let name = &callee.name;
        let mut variables = callee.variables.iter().filter(|(_, it)| it.default.is_none());
        if let Some((variable, _)) = variables.next() {
            let why = format!(
                "`sub_agents` names `{name}`, whose variable `{variable}` has no value: it can \
                 never be called"
            );
            findings.wrong("sub_agents", name, why).hint =
                Some("give the variable a default: only `--param` sets it".to_owned());
        }
        if let Access::AllowList { .. } = callee.access {
            let held = self.left_by(&caller.access);
            let missing = self.left_by(&callee.access).into_iter().filter(|it| !held.contains(it));
            let missing: Vec<_> = missing.map(|tool| format!("`{tool}`")).collect();
            if !missing.is_empty() {
                let why = format!(
                    "`sub_agents`: `{name}` names {}, which this agent does not have: it does \
                     without",
                    missing.join(", ")
                );
                findings.warn("sub_agents", name, why).hint =
                    Some("whom an agent calls has at most the agent's own tools".to_owned());
            }
        }
        let own = callee.allowance.millis.map(|millis| millis.get() / 1000);
        let given = caller.children.timeout.map(|seconds| seconds.get());
        if let (Some(own), Some(given)) = (own, given)
            && own > given
        {
            let why = format!(
                "`sub_agents_config.timeout` is {given} s, which is less than the {own} s of \
                 `{name}`: it is stopped after {given} s"
            );
            findings.warn("sub_agents_config.timeout", "", why);
        }
    }

    /// Returns the shortest way of calls from an agent back to itself.
    fn circle(&self, name: &str) -> Option<Vec<String>> {
        let mut from: BTreeMap<String, String> = BTreeMap::new();
        let mut next = VecDeque::from([name.to_owned()]);
        while let Some(caller) = next.pop_front() {
            for callee in self.called_by(&caller) {
                if callee == name {
                    let mut path = vec![callee, caller];
                    while let Some(above) = path.last().and_then(|it| from.get(it)) {
                        path.push(above.clone());
                    }
                    path.reverse();
                    return Some(path);
                }
                if !from.contains_key(&callee) {
                    from.insert(callee.clone(), caller.clone());
                    next.push_back(callee);
                }
            }
        }
        None
    }

    fn called_by(&self, name: &str) -> Vec<String> {
        match self.agents.library.get(name).map(|it| &it.callable) {
            Some(Callable::Only(names)) => names.clone(),
            Some(Callable::Nobody | Callable::All) | None => Vec::new(),
        }
    }
}
