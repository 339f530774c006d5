//! [`Cells`]: points of an experiment, of which close points are merged if there are too many.

use std::collections::BTreeMap;

/// Points of one experiment. Points that lie close together and belong to one tracked region are
/// merged. Isolated points keep their position, so that outliers stay visible regardless of the
/// number of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cells {
    /// Number of coordinates of a point.
    pub(super) dimensions: usize,
    /// Coordinates of each cell, cell after cell. They are the mean of the points of the cell.
    pub(super) places: Vec<f64>,
    /// Tracked region of each cell, 0 for none.
    pub(super) regions: Vec<u32>,
    /// Number of points in each cell.
    pub(super) counts: Vec<u64>,
}

/// Numbers of steps into which the axes are divided, in the order in which they are tried.
const STEPS: [f64; 11] = [
    2048.0, 1024.0, 512.0, 256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 1.0,
];

impl Cells {
    pub(super) fn len(&self) -> usize {
        self.regions.len()
    }

    /// Returns the position, tracked region and number of points of each cell.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[f64], u32, u64)> {
        let places = self.places.chunks_exact(self.dimensions.max(1));
        let rest = self.regions.iter().zip(&self.counts);
        places
            .zip(rest)
            .map(|(at, (region, count))| (at, *region, *count))
    }
}

/// Points of an experiment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cloud<'a> {
    /// Coordinates, point after point.
    pub(super) places: &'a [f64],
    /// Tracked region of each point, 0 for none.
    pub(super) regions: &'a [u32],
}

/// Merges points until all experiments together have at most `most` cells. This is not possible if
/// there are more tracked regions than `most`. Returns the cells and the number of steps along an
/// axis, which is `None` if no points were merged.
pub(super) fn cells(
    clouds: &[Cloud<'_>],
    dimensions: usize,
    ranges: &[[f64; 2]],
    most: usize,
) -> (Vec<Cells>, Option<usize>) {
    let all: usize = clouds.iter().map(|cloud| cloud.regions.len()).sum();
    if all <= most {
        let every = |cloud: &Cloud<'_>| Cells {
            dimensions,
            places: cloud.places.to_vec(),
            regions: cloud.regions.to_vec(),
            counts: vec![1; cloud.regions.len()],
        };
        return (clouds.iter().map(every).collect(), None);
    }
    let mut found = Vec::new();
    for steps in STEPS {
        found.clear();
        let mut count = 0;
        for cloud in clouds {
            let cells = gather(cloud, dimensions, ranges, steps);
            count += cells.len();
            found.push(cells);
            if count > most && steps > 1.0 {
                break;
            }
        }
        if count <= most || steps == 1.0 {
            return (found, Some(steps as usize));
        }
    }
    (found, Some(1))
}

fn gather(cloud: &Cloud<'_>, dimensions: usize, ranges: &[[f64; 2]], steps: f64) -> Cells {
    let step = |(value, [low, high]): (&f64, &[f64; 2])| {
        ((value - low) / (high - low) * steps)
            .floor()
            .clamp(0.0, steps - 1.0) as u16
    };
    // Sums of coordinates and numbers of points, by tracked region and position. The ordered map
    // makes results reproducible.
    let mut sums: BTreeMap<(u32, Vec<u16>), (Vec<f64>, u64)> = BTreeMap::new();
    let places = cloud.places.chunks_exact(dimensions.max(1));
    for (at, region) in places.zip(cloud.regions) {
        let key = (*region, at.iter().zip(ranges).map(step).collect());
        let (sum, count) = sums
            .entry(key)
            .or_insert_with(|| (vec![0.0; dimensions], 0));
        sum.iter_mut()
            .zip(at)
            .for_each(|(sum, value)| *sum += value);
        *count += 1;
    }
    let mut cells = Cells {
        dimensions,
        ..Cells::default()
    };
    for ((region, _), (sum, count)) in sums {
        cells
            .places
            .extend(sum.iter().map(|sum| sum / count as f64));
        cells.regions.push(region);
        cells.counts.push(count);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_keep_their_place_and_no_point_is_lost() {
        let mut places: Vec<f64> = (0..20_000)
            .flat_map(|at| {
                [
                    0.5 + 1e-3 * f64::from(at % 100),
                    0.5 + 1e-5 * f64::from(at / 100),
                ]
            })
            .collect();
        places.extend([0.013, 0.987]);
        let mut regions = vec![1; 20_000];
        regions.push(0);
        let cloud = Cloud {
            places: &places,
            regions: &regions,
        };
        let (cells, steps) = cells(&[cloud], 2, &[[0.0, 1.0]; 2], 500);
        let cells = &cells[0];
        assert!(cells.len() <= 500 && steps.is_some());
        assert_eq!(cells.counts.iter().sum::<u64>(), 20_001);
        let alone = cells.iter().find(|cell| cell.1 == 0).expect("the outlier");
        assert_eq!(alone, (&[0.013, 0.987][..], 0, 1));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let cloud = Cloud {
            places: &[0.1, 0.2, 0.1, 0.2],
            regions: &[2, 2],
        };
        let (cells, steps) = cells(&[cloud], 2, &[[0.0, 1.0]; 2], 500);
        assert_eq!((cells[0].len(), steps), (2, None));
    }
}
