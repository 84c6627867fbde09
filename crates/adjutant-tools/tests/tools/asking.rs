//! Questions to a person.

use std::path::Path;

use adjutant_core::{Answer, Ask};
use serde_json::json;

use crate::seat::Seat;

fn seat(answer: Answer) -> Seat {
    Seat { answer, ..Seat::at(Path::new("/")) }
}

#[tokio::test]
async fn words_come_back_letter_by_letter() {
    let seat = seat(Answer::Words { text: " two\nlines ".into() });
    let arguments = json!({ "question": "Which?", "choices": ["a", "b"] });
    assert_eq!(seat.call("ask_user", arguments).await.unwrap(), " two\nlines ");
    let choices = vec!["a".to_owned(), "b".to_owned()];
    let asked = Ask::Question { prompt: "Which?".into(), choices };
    assert_eq!(*seat.asked.lock().unwrap(), [asked]);
}

#[tokio::test]
async fn no_answer_is_an_error_the_model_can_act_on() {
    let question = json!({ "question": "Which?" });
    let nobody = seat(Answer::Unattended).call("ask_user", question.clone()).await.unwrap_err();
    assert!(nobody.contains("nobody is there") && nobody.contains("decide for yourself"));
    let refusing = seat(Answer::Deny { reason: Some("too early".into()) });
    assert!(refusing.call("ask_user", question).await.unwrap_err().contains("too early"));
}

#[tokio::test]
async fn an_empty_question_is_not_asked() {
    let seat = seat(Answer::Words { text: "x".into() });
    let error = seat.call("ask_user", json!({ "question": " \n" })).await.unwrap_err();
    assert!(error.contains("`question` is empty"), "{error}");
    assert!(seat.asked.lock().unwrap().is_empty());
}
