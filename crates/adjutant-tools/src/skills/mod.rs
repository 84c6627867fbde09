//! Skills: know-how that people keep in directories, told of in a line each and read on demand.

mod skill;
mod tool;

pub use skill::{Invocation, Skill, Skills, Whose};
pub(crate) use tool::SkillTool;
