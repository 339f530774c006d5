//! [`Structure`]: form of a scaling model (its terms and their parameters) without coefficients and
//! powers, and all forms that measurements allow.

use super::Measurements;

/// Largest number of parameters whose combinations are searched. Further parameters are not used.
pub(super) const MAX_PARAMETERS: usize = 4;

/// Form of a model without its coefficients and powers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Structure {
    /// `true` for a power law, whose powers are any real numbers.
    pub(super) is_power_law: bool,
    /// `true` if the model has a constant.
    pub(super) has_constant: bool,
    /// Parameters of each term, by index.
    pub(super) terms: Vec<Vec<usize>>,
}

impl Structure {
    /// Returns the power law in some parameters.
    pub(super) fn power_law(parameters: Vec<usize>) -> Self {
        Structure {
            is_power_law: true,
            has_constant: false,
            terms: vec![parameters],
        }
    }

    /// Returns the number of coefficients and powers.
    pub(super) fn numbers(&self) -> usize {
        let powers: usize = self.terms.iter().map(Vec::len).sum();
        usize::from(self.has_constant) + self.terms.len() + powers
    }

    /// Returns the smallest number of degrees of freedom with which the structure may be selected. A constant
    /// or a single power needs 1, other structures 2, because they fit noise well.
    fn least_free(&self) -> usize {
        if self.numbers() <= 2 || self.is_power_law {
            1
        } else {
            2
        }
    }

    /// Returns `true` if a term contains a parameter.
    pub(super) fn uses(&self, parameter: usize) -> bool {
        self.terms.iter().any(|term| term.contains(&parameter))
    }

    /// Returns the number of coefficients and powers that describe the dependence on one parameter: those
    /// of its terms, and one for the rest of the model.
    pub(super) fn numbers_of(&self, parameter: usize) -> usize {
        let terms = self
            .terms
            .iter()
            .filter(|term| term.contains(&parameter))
            .count();
        let has_rest = self.has_constant || terms < self.terms.len() || terms == 0;
        2 * terms + usize::from(has_rest)
    }

    /// Returns the structures that can be fitted to measurements with enough degrees of freedom,
    /// from few to many numbers.
    pub(super) fn all(data: &Measurements) -> Vec<Self> {
        let distinct = data.distinct().into_iter().max().map_or(0, |last| last + 1);
        let parameters = 0..data.parameters().len();
        let levels: Vec<usize> = parameters.map(|at| data.levels(at).len()).collect();
        let varying = (0..levels.len()).filter(|&at| levels[at] > 1);
        let varying: Vec<usize> = varying.take(MAX_PARAMETERS).collect();
        let mut all = vec![Structure {
            is_power_law: false,
            has_constant: true,
            terms: Vec::new(),
        }];
        for subset in 1_u32..1 << varying.len() {
            let bits = 0..varying.len();
            let own = bits
                .filter(|bit| subset >> bit & 1 == 1)
                .map(|bit| varying[bit]);
            let own: Vec<usize> = own.collect();
            all.push(Self::power_law(own.clone()));
            for terms in partitions(&own) {
                let with = |has_constant: bool| Structure {
                    is_power_law: false,
                    has_constant,
                    terms: terms.clone(),
                };
                all.extend([with(false), with(true)]);
            }
            if let [one] = own[..] {
                all.push(Structure {
                    is_power_law: false,
                    has_constant: true,
                    terms: vec![vec![one], vec![one]],
                });
            }
        }
        let fits = |of: &Structure| {
            let enough = |at: usize| !of.uses(at) || levels[at] >= of.numbers_of(at);
            distinct >= of.numbers() + of.least_free() && (0..levels.len()).all(enough)
        };
        all.retain(fits);
        all.sort_by_key(Structure::numbers);
        all
    }
}

/// Returns all divisions of a list into groups.
fn partitions(items: &[usize]) -> Vec<Vec<Vec<usize>>> {
    let Some((first, rest)) = items.split_first() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for division in partitions(rest) {
        for at in 0..division.len() {
            let mut joined = division.clone();
            joined[at].insert(0, *first);
            all.push(joined);
        }
        let mut apart = vec![vec![*first]];
        apart.extend(division);
        all.push(apart);
    }
    all
}
