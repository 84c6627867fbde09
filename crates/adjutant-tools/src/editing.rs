//! Edits made to a file, one after another and all or none.

use std::{ops::Range, sync::Arc};

use adjutant_core::{Host, ToolError};
use rustix::io::Errno;

use crate::{
    brief,
    directory::Former,
    edit::{self, Applied, Edit, Fit, Swap},
    excerpt,
    files::Files,
    place::Place,
    rewrite::{Act, Next, rewrite},
};

pub(crate) async fn run(
    files: &Arc<Files>,
    place: Place,
    host: &dyn Host,
    edits: Vec<Edit>,
) -> Result<String, ToolError> {
    let make = move |place: &Place, former: Option<&Former>| make(place, former, &edits);
    rewrite(files, place, host, Act::Edit, make).await
}

fn make(
    place: &Place,
    former: Option<&Former>,
    edits: &[Edit],
) -> Result<(Next, String), ToolError> {
    let former = former.ok_or_else(|| place.error(&Errno::NOENT.into()))?;
    let (mut content, mut places, mut fit) = (former.content.clone(), Vec::new(), Fit::Exact);
    for (number, edit) in (1..).zip(edits) {
        let applied = edit::apply(&content, edit).map_err(|misfit| match edits {
            [_] => ToolError(format!("`{}`: {misfit}", place.given())),
            _ => {
                let (given, all) = (place.given(), edits.len());
                let why = format!("`{given}`: edit {number} of {all}: {misfit}");
                ToolError(format!("{why}\n[none of the edits was made]"))
            }
        })?;
        if applied.fit == Fit::Blanks {
            fit = Fit::Blanks;
        }
        places = moved(places, &applied);
        content = applied.content;
    }
    if content == former.content {
        return Err(place.refusal("would be as it was after these edits: nothing was changed"));
    }
    places.sort_by_key(|place| place.start);
    let count = brief::count(places.len(), "place");
    let mut said = format!("edited `{}` in {count}\n", place.given());
    if fit == Fit::Blanks {
        said.push_str("[blanks at the ends of lines differ from `old_text`: fitted to the file]\n");
    }
    said.push_str(&excerpt::around(&content, &places));
    Ok((Next::Content(content), said))
}

/// Returns where former edits are after another, and where that one is.
fn moved(places: Vec<Range<usize>>, applied: &Applied) -> Vec<Range<usize>> {
    let shift = |at: usize| {
        let before = applied.swaps.iter().take_while(|swap| swap.range.end <= at);
        let at = before.fold(at, |at, Swap { range, with }| at + with.len() - range.len());
        at.min(applied.content.len())
    };
    let former = places.into_iter().map(|Range { start, end }| {
        let end = shift(end);
        shift(start).min(end)..end
    });
    former.chain(applied.places.iter().cloned()).collect()
}
