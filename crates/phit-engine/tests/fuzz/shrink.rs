//! The smallest case that fails as a larger one does.

use serde_json::Value;

/// Most calls of the judge.
const TRIES: usize = 3000;

/// A document that still fails, and from which nothing can be removed.
pub fn value(from: &Value, fails: &dyn Fn(&Value) -> bool) -> Value {
    let mut best = from.clone();
    let mut tries = 0;
    loop {
        let mut smaller = None;
        for candidate in candidates(&best) {
            tries += 1;
            if tries > TRIES {
                return best;
            }
            if fails(&candidate) {
                smaller = Some(candidate);
                break;
            }
        }
        match smaller {
            Some(found) => best = found,
            None => return best,
        }
    }
}

/// This document with one part removed, larger parts first.
fn candidates(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match value {
        Value::Object(table) => {
            for key in table.keys() {
                let mut less = table.clone();
                less.shift_remove(key);
                found.push(Value::Object(less));
            }
            for (key, inner) in table {
                for smaller in candidates(inner) {
                    let mut less = table.clone();
                    less.insert(key.clone(), smaller);
                    found.push(Value::Object(less));
                }
            }
        }
        Value::Array(list) => {
            if list.len() > 8 {
                found.push(list[..list.len() / 2].iter().cloned().collect());
                found.push(list[list.len() / 2..].iter().cloned().collect());
            }
            for index in (0..list.len()).take(40) {
                let mut less = list.clone();
                less.remove(index);
                found.push(Value::Array(less));
            }
            for (index, inner) in list.iter().enumerate().take(10) {
                for smaller in candidates(inner) {
                    let mut less = list.clone();
                    less[index] = smaller;
                    found.push(Value::Array(less));
                }
            }
        }
        _ => {}
    }
    found
}

/// Bytes that still fail, and from which no range can be removed.
pub fn bytes(from: &[u8], fails: &dyn Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut best = from.to_vec();
    let (mut run, mut tries) = (best.len().div_ceil(2), 0);
    while run > 0 && tries < TRIES {
        let mut at = 0;
        while at < best.len() && tries < TRIES {
            tries += 1;
            let less: Vec<u8> = best[..at].iter().chain(&best[(at + run).min(best.len())..]).copied().collect();
            match fails(&less) {
                true => best = less,
                false => at += run,
            }
        }
        run /= 2;
    }
    best
}
