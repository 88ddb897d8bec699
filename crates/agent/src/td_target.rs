//! TD targets: (reward, action values of the next state) → T. Reads values, knows no network.

/// Target of one transition. `terminal` is a lost life or game over; a time limit ends the episode but still bootstraps.
///
/// ```text
/// T = r + γ · (1 − done) · max_a' Q(s', a'; θ⁻, Θ⁻, ε⁻)                          [SANE:td-target]
/// ```
pub fn td_target(reward: f32, terminal: bool, gamma: f32, q_next: &[f32]) -> f32 {
    if terminal {
        return reward;
    }
    reward + gamma * q_next[greedy(q_next)]
}

/// The double-Q variant (van Hasselt et al. 2016): the online network chooses the action, the target network values it.
///
/// DEVIATION(double-q-selector): each network has its own draw: docs/deviations.md#double-q-selector.
pub fn double_q_target(reward: f32, terminal: bool, gamma: f32, q_next: &[f32], q_next_online: &[f32]) -> f32 {
    if terminal {
        return reward;
    }
    reward + gamma * q_next[greedy(q_next_online)]
}

/// The action of the largest value, the first of equals; NaN is never larger.
pub fn greedy(q: &[f32]) -> usize {
    let mut best = 0;
    for (a, value) in q.iter().enumerate().skip(1) {
        if q[best] < *value {
            best = a;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_env::Ending;

    fn check_target(ending: Ending, expected: f32) {
        assert_eq!(td_target(1.0, ending.is_terminal(), 0.5, &[9.0, 5.0]), expected, "{ending:?}");
        assert_eq!(double_q_target(1.0, ending.is_terminal(), 0.5, &[9.0, 5.0], &[2.0, 1.0]), expected, "{ending:?}");
    }

    #[test]
    fn a_terminal_step_does_not_bootstrap() {
        check_target(Ending::LifeLost, 1.0);
        check_target(Ending::GameOver, 1.0);
    }

    #[test]
    fn a_time_limit_and_an_ordinary_step_bootstrap() {
        check_target(Ending::Truncated, 5.5);
        check_target(Ending::Continues, 5.5);
    }

    #[test]
    fn a_terminal_step_ignores_even_an_infinite_future() {
        assert_eq!(td_target(-1.0, Ending::GameOver.is_terminal(), 0.99, &[f32::INFINITY]), -1.0);
    }

    #[test]
    fn double_q_values_the_action_the_online_network_prefers() {
        assert_eq!(double_q_target(0.0, Ending::Continues.is_terminal(), 1.0, &[9.0, 5.0], &[0.0, 1.0]), 5.0);
    }

    #[test]
    fn the_first_of_equal_actions_is_greedy() {
        assert_eq!(greedy(&[0.0, 2.0, 2.0]), 1);
    }
}
