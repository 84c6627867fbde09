//! What `--param` sets: how the root's model is asked, and the variables of its agent.

use std::{collections::BTreeMap, num::NonZeroU64};

use adjutant_core::{Effort, Manner};
use serde_json::Number;

use crate::{
    CliError,
    agents::{Lead, Values, Variable},
    error::Kind,
};

/// The parameters of models.
pub(crate) const MODEL_PARAMETERS: [&str; 4] = ["temperature", "top_p", "max_tokens", "effort"];

/// What `--param` sets.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    /// How the model is asked.
    pub(crate) manner: Manner,
    /// What the agent's variables are.
    pub(crate) values: Values,
}

impl Parameters {
    /// Reads what was given for a root, which may be a named agent.
    pub(crate) fn of(given: &[(String, String)], lead: Option<&Lead>) -> Result<Self, CliError> {
        let none = BTreeMap::new();
        Self::read(given, lead.map_or(&none, |lead| &lead.definition.variables))
    }

    /// Reads what was given where there are these variables. The last one of a name counts.
    fn read(
        given: &[(String, String)],
        variables: &BTreeMap<String, Variable>,
    ) -> Result<Self, CliError> {
        let mut parameters = Self::default();
        for (name, value) in given {
            if variables.contains_key(name) {
                parameters.values.insert(name.clone(), value.clone());
            } else if MODEL_PARAMETERS.contains(&name.as_str()) {
                let set = parameters.set(name, value.trim());
                set.map_err(|why| wrong(format!("`--param {name}={value}`: it has to be {why}")))?;
            } else {
                let error = wrong(format!("there is no parameter `{name}`"));
                return Err(error.hint(format!("there are: {}", known(variables))));
            }
        }
        Ok(parameters)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let Manner { temperature, top_p, max_output, effort, .. } = &mut self.manner;
        match name {
            "temperature" => *temperature = Some(number(value, 2.0).ok_or("from 0 to 2")?),
            "top_p" => *top_p = Some(number(value, 1.0).ok_or("from 0 to 1")?),
            "max_tokens" => {
                let count = value.parse::<NonZeroU64>();
                *max_output = Some(count.map_err(|_| "a whole number of at least 1")?);
            }
            _ => {
                let found = Effort::ALL.into_iter().find(|(known, _)| *known == value);
                let (_, found) = found.ok_or("`low`, `medium` or `high`")?;
                *effort = Some(found);
            }
        }
        Ok(())
    }

    /// Returns how the root is to work: as its agent's file says, but for what is set here.
    pub(crate) fn manner(&self, usual: Manner) -> Manner {
        let Manner { temperature, top_p, max_output, effort, .. } = self.manner.clone();
        Manner {
            temperature: temperature.or(usual.temperature),
            top_p: top_p.or(usual.top_p),
            max_output: max_output.or(usual.max_output),
            effort: effort.or(usual.effort),
            ..usual
        }
    }
}

fn number(text: &str, most: f64) -> Option<Number> {
    let number: Number = text.parse().ok()?;
    number.as_f64().is_some_and(|number| (0.0..=most).contains(&number)).then_some(number)
}

fn known(variables: &BTreeMap<String, Variable>) -> String {
    let own = variables.iter().map(|(name, variable)| match &variable.description {
        Some(what) => format!("{name} ({what})"),
        None => name.clone(),
    });
    own.chain(MODEL_PARAMETERS.map(str::to_owned)).collect::<Vec<_>>().join(", ")
}

fn wrong(message: String) -> CliError {
    CliError::new(Kind::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[(&str, &str)]) -> Result<Parameters, String> {
        let given: Vec<_> =
            given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let topic = Variable { description: Some("what about".to_owned()), default: None };
        let read = Parameters::read(&given, &BTreeMap::from([("topic".to_owned(), topic)]));
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_set_counts_more_than_what_the_file_says() {
        let set = read(&[("temperature", "0"), ("effort", "low"), ("effort", "high")]).unwrap();
        let file = Manner {
            temperature: Some(1.into()),
            max_output: NonZeroU64::new(9),
            effort: Some(Effort::Medium),
            ..Manner::default()
        };
        let manner = set.manner(file.clone());
        let expected =
            Manner { temperature: Some(0.into()), effort: Some(Effort::High), ..file.clone() };
        assert_eq!(manner, expected);
        assert_eq!(Parameters::default().manner(file.clone()), file);
    }

    #[test]
    fn a_variable_is_taken_as_it_is() {
        let set = read(&[("topic", " a = b "), ("top_p", "0.5"), ("max_tokens", "7")]).unwrap();
        assert_eq!(set.values, Values::from([("topic".to_owned(), " a = b ".to_owned())]));
        let expected = (Number::from_f64(0.5), NonZeroU64::new(7));
        assert_eq!((set.manner.top_p, set.manner.max_output), expected);
    }

    #[test]
    fn what_is_not_known_or_does_not_fit_is_refused() {
        let unknown = read(&[("tpic", "x")]).unwrap_err();
        let known = "there are: topic (what about), temperature, top_p, max_tokens, effort";
        assert!(unknown.contains("`tpic`") && unknown.contains(known), "{unknown}");
        for (name, value) in [
            ("temperature", "warm"),
            ("temperature", "2.1"),
            ("temperature", "NaN"),
            ("top_p", "-0.1"),
            ("max_tokens", "0"),
            ("effort", "most"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.contains(&format!("`--param {name}={value}`")), "{error}");
        }
    }
}
