//! TOML tables by dotted keys: `learner.gamma` is `gamma` in the table `learner`.

use std::collections::BTreeMap;
use toml::{Table, Value};

/// The value at a dotted key.
pub fn value_at<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let mut parts = key.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// Sets the value at a dotted key.
pub fn set_value(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        Some((first, rest)) => {
            if let Value::Table(inner) = table.entry(first).or_insert_with(|| Value::Table(Table::new())) {
                set_value(inner, rest, value);
            }
        }
        None => drop(table.insert(key.into(), value)),
    }
}

/// A table of one value, at a dotted key.
pub fn table_of_one(key: &str, value: Value) -> Table {
    let mut table = Table::new();
    set_value(&mut table, key, value);
    table
}

/// Tables are merged key by key, everything else is replaced; so is a choice whose `kind` changes, with all its data.
pub fn merge_tables(base: &mut Table, layer: &Table) {
    for (key, value) in layer {
        match (base.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(overlay)) => {
                let is_another = |kind| overlay.get("kind").is_some_and(|other| other != kind);
                if inner.get("kind").is_some_and(is_another) {
                    inner.clear();
                }
                merge_tables(inner, overlay);
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Dotted key → value, for every value of a table.
pub fn flatten_table(table: &Table) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(flatten_table(inner).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            other => {
                found.insert(key.clone(), other.to_string());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_where_it_was_set_and_a_table_below_it_stays() {
        let mut table: Table = "seed = 1\n[learner]\ngamma = 0.5".parse().unwrap();
        set_value(&mut table, "learner.optimiser.epsilon", Value::Float(1e-8));
        assert_eq!(value_at(&table, "learner.optimiser.epsilon"), Some(&Value::Float(1e-8)));
        assert_eq!(value_at(&table, "learner.gamma"), Some(&Value::Float(0.5)));
        assert_eq!(value_at(&table, "learner.gamma.more"), None);
        let keys: Vec<String> = flatten_table(&table).into_keys().collect();
        assert_eq!(keys, ["learner.gamma", "learner.optimiser.epsilon", "seed"]);
    }

    #[test]
    fn a_choice_of_another_kind_brings_its_own_values_alone() {
        let mut table: Table = "[objective]\nkind = 'elbo'\nkl_weight = 0.1".parse().unwrap();
        merge_tables(&mut table, &table_of_one("objective.kl_weight", Value::Float(0.2)));
        assert_eq!(value_at(&table, "objective.kl_weight"), Some(&Value::Float(0.2)));
        merge_tables(&mut table, &table_of_one("objective.kind", Value::from("td")));
        assert_eq!(value_at(&table, "objective.kl_weight"), None);
    }
}
