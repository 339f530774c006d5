//! Trends as a table.

use super::trends::Trends;
use std::io::{self, Write};

impl Trends {
    /// Writes a line for each object, frame and metric there is, separated by commas, under a head:
    /// `object,frame,name,tasks,clusters,metric,unit,count,missing,mean,deviation,min,low,q1,median,q3,high,
    /// max,mean_by_tasks`. Clusters are separated by blanks; text is quoted.
    ///
    /// # Errors
    /// What `out` fails with.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "object,frame,name,tasks,clusters,metric,unit,count,missing,mean,deviation,min,low,q1,median,\
             q3,high,max,mean_by_tasks"
        )?;
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        for (object, members) in self.members.iter().enumerate() {
            for (frame, (clusters, (name, tasks))) in members.iter().zip(&self.frames).enumerate() {
                let clusters: Vec<String> = clusters.iter().map(ToString::to_string).collect();
                for (index, metric) in self.metrics.iter().enumerate() {
                    let Some(s) = self.at(object, frame, index) else {
                        continue;
                    };
                    write!(out, "{},{frame},{},{tasks},", object + 1, quoted(name))?;
                    write!(out, "{},", clusters.join(" "))?;
                    write!(out, "{},{},", quoted(&metric.name), quoted(&metric.unit))?;
                    write!(out, "{},{},{},{},", s.count, s.missing, s.mean, s.deviation)?;
                    write!(out, "{},{},{},{},{},", s.min, s.low, s.q1, s.median, s.q3)?;
                    let by_tasks = s.mean * f64::from(*tasks);
                    writeln!(out, "{},{},{by_tasks}", s.high, s.max)?;
                }
            }
        }
        Ok(())
    }
}
