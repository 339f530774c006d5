//! Scaling models: metrics as functions of tasks, threads, problem size and other parameters.
//!
//! A [`ScalingModel`] is a sum of terms `c * p^i * log2(p)^j` over one or several parameters `p`, the
//! performance model normal form of Calotoiu et al. ("Using Automated Performance Modeling to Find
//! Scalability Bugs in Complex Codes", SC'13). A power law is the case of one term
//! with `j = 0`. Its power is any real number, or one of the grid below if that predicts better.
//!
//! ```
//! use perf_core::Job;
//! use perf_track::scaling::{Form, Measurements, ScalingModel};
//! // A sort takes n log n, here with 1 % of noise.
//! let mut data = Measurements::new(["n"]);
//! for (at, n) in [16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0_f64].into_iter().enumerate() {
//!     let noise = [1.01, 0.99][at % 2];
//!     data.push(&[n], noise * 3e-9 * n * n.log2())?;
//! }
//! let model = ScalingModel::fit(&data, 0.95, &Job::default())?.expect("six sizes");
//! assert_eq!(model.form, Form::NormalForm);
//! assert!(model.to_string().ends_with("e-9 * n * log2(n)"), "{model}");
//! let (low, high) = model.predict(&[65536.0])?.interval.expect("four degrees of freedom");
//! assert!(low < 3e-9 * 65536.0 * 16.0 && 3e-9 * 65536.0 * 16.0 < high);
//! # Ok::<(), perf_track::Error>(())
//! ```
//!
//! # Method
//! Residuals are relative: the logarithm of the measured value divided by the modelled value. A structure
//! states the parameters of each term and the presence of a constant: the constant alone, power laws,
//! one term, and sums of terms, with coefficients that are not negative. The powers of a structure come
//! from a grid (`-2 <= i <= 3`, `0 <= j <= 2`) by coordinate search; coefficients are least squares by QR
//! decomposition. Each distinct scale is then left out in turn, the structure is fitted again, including
//! its powers, and the left-out value is predicted. Of the structures whose squared errors exceed those of the best one
//! by at most one standard error of the differences, the structure with the fewest free numbers is selected, so
//! that noise does not add terms.
//!
//! The variance of the noise is the larger of that of the residuals, with one degree of freedom less for
//! each coefficient and each power, and that of the predictions of left-out scales. The interval of a
//! prediction adds the variance of coefficients and powers, by the Jacobian matrix of the model. For a
//! value of a parameter that was not measured it also adds the variance of the mean residuals of the
//! measured values of this parameter, and has the degrees of freedom of these means.

mod curve;
mod display;
mod measurements;
mod model;
mod prediction;
mod selection;
mod structure;

pub use measurements::Measurements;
pub(crate) use measurements::positive;
pub use model::{Factor, Form, ScalingModel, Term};
pub use prediction::Prediction;
