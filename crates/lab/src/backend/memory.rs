//! What a step has to say of its device.

use private_training::Gradients;

/// Says the notes of `gradients` behind the first `said`, each once: that steps go on with fewer records at once,
/// which changes memory and time and nothing else; answers how many have been said.
pub fn say_notes(gradients: &Gradients, said: usize) -> usize {
    for note in &gradients.notes()[said..] {
        let short: String = note.chars().take(400).collect();
        eprintln!("{short}");
    }
    gradients.notes().len()
}
