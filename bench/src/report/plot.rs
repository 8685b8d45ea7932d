//! How the designs grow.

use plotters::prelude::*;

use super::All;
use crate::Result;
use crate::figures::named;

const SIZES: [u32; 4] = [20, 199, 632, 2000];
/// One for each contender.
const COLORS: [RGBColor; 7] = [
    RGBColor(120, 120, 120),
    RGBColor(200, 30, 60),
    RGBColor(30, 100, 190),
    RGBColor(20, 140, 90),
    RGBColor(210, 140, 20),
    RGBColor(130, 70, 160),
    RGBColor(70, 190, 200),
];

/// Overviews a second of each contender over the number of announcements, both by powers of ten; nothing where that was
/// not measured.
pub fn growth(all: &All, database: &str) -> Result<Option<String>> {
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for size in SIZES {
        let name = format!("{size} announcements, 64 clients");
        let Some(case) = all.case("overview", database, &name) else { return Ok(None) };
        for contender in &case.contenders {
            let point = (f64::from(size), contender.median(named::RATE).unwrap_or_default());
            match lines.iter_mut().find(|(name, _)| *name == contender.name) {
                Some((_, points)) => points.push(point),
                None => lines.push((contender.name.clone(), vec![point])),
            }
        }
    }
    let rates = || lines.iter().flat_map(|(_, points)| points.iter().map(|(_, rate)| *rate));
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (760, 460)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d((15.0..2600.0).log_scale(), (least * 0.6..most * 1.6).log_scale())?;
        let number = |value: &f64| format!("{value:.0}");
        chart
            .configure_mesh()
            .light_line_style(RGBColor(240, 240, 240))
            .x_desc("announcements")
            .y_desc("overviews/s, 64 clients")
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .draw()?;
        for ((name, points), color) in lines.iter().zip(COLORS) {
            let line = LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3);
            chart
                .draw_series(line)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(RGBColor(200, 200, 200))
            .draw()?;
        area.present()?;
    }
    Ok(Some(text))
}
