//! Correlation of severity views in the frequency domain.
