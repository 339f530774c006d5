//! Draws a picture into bytes.

use perfkit::prelude::*;
use perfkit::view::timeline::Picture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-16")?;
    let regions = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &regions, &job)?;
    let params = Folder::params().columns(800).op(Op::Diff).check()?;
    let folder = Folder::new(&timelines, Groups::by(&timelines, GroupBy::All), params)?;
    let fold = folder.fold(timelines.range(), &job)?;
    let picture = Picture::new(&folder, &fold)?.titled("Where ranks differ");
    let scene = picture.theme(Theme::dark()).scene();
    println!("{}", scene.title);
    let (png, svg) = (scene.png()?, scene.svg());
    println!("{} by {} pixels", scene.width, scene.height);
    let kilobytes = |bytes: usize| 10 * bytes.div_ceil(10_000);
    let (png, svg) = (kilobytes(png.len()), kilobytes(svg.len()));
    println!("at most {png} kB of PNG and {svg} kB of SVG");
    Ok(())
}
