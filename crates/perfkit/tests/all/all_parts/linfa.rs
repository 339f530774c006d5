//! Work that uses the library linfa.

use super::work::{Planted, Work, digest};
use perfkit::track::cluster::Clusterer;
use perfkit::track::cluster::linfa::{LinfaDbscan, LinfaKMeans, LinfaMixture, LinfaOptics};

/// Returns all clusterers of linfa, applied to points.
pub(crate) fn of_points(planted: &Planted) -> Vec<(&'static str, Work<'_>)> {
    type Make = fn() -> Result<Box<dyn Clusterer>, perfkit::track::Error>;
    let makers: [(&'static str, Make); 4] = [
        ("DBSCAN of linfa", || {
            Ok(Box::new(LinfaDbscan::new(0.01, 10)?))
        }),
        ("OPTICS of linfa", || {
            Ok(Box::new(LinfaOptics::new(0.02, 10, 0.01)?))
        }),
        ("k-means of linfa", || Ok(Box::new(LinfaKMeans::new(12)?))),
        ("mixture of linfa", || Ok(Box::new(LinfaMixture::new(4)?))),
    ];
    let all = makers.map(|(name, make)| {
        let work: Work<'_> =
            Box::new(move |job, _| digest(&make()?.cluster(planted.points()?, job)?));
        (name, work)
    });
    all.into()
}
