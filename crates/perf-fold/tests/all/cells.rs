//! Values of single cells: edge cases, ties, idle and absent streams, user-defined operations.

use perf_fold::{AbsentRule, Cell, Choice, ClassId, Counts, FoldOp, Op, State, Tally, Ties, Value};

const A: State = State::Class(ClassId(0));
const B: State = State::Class(ClassId(1));
const NONE: State = State::Idle;
const GONE: State = State::Absent;

fn a() -> Value {
    Value::Class(ClassId(0))
}

fn b() -> Value {
    Value::Class(ClassId(1))
}

fn tally(states: &[State]) -> Tally {
    let mut tally = Tally::default();
    for (stream, state) in (0..).zip(states) {
        tally.add(*state, 1, stream);
    }
    tally
}

fn cell(op: Op, states: &[State]) -> Cell {
    tally(states).cell(&op, Ties::StreamOrder, AbsentRule::AsIdle)
}

#[test]
fn edge_cases() {
    let shows = |op, states: &[State]| cell(op, states).value;
    // No stream at all.
    for op in [Op::Max, Op::Min, Op::Idle, Op::Any(ClassId(0))] {
        assert_eq!(shows(op, &[]), Value::Idle, "{op:?}");
    }
    assert_eq!(cell(Op::Diff, &[]).picture(), None);
    assert_eq!(cell(Op::Max, &[]).agreement(), 0.0);
    assert_eq!(shows(Op::Entropy, &[]), Value::Number(0.0));
    // One stream: every operation returns its state, and `diff` is uniform.
    for (state, value) in [(A, a()), (NONE, Value::Idle)] {
        for op in [Op::Max, Op::Min, Op::Idle] {
            assert_eq!(shows(op, &[state]), value, "{op:?}");
        }
        assert_eq!(shows(Op::Diff, &[state]), Value::Uniform);
    }
    // All streams idle.
    for op in [Op::Max, Op::Min, Op::Idle] {
        assert_eq!(shows(op, &[NONE, NONE]), Value::Idle, "{op:?}");
    }
    assert_eq!(shows(Op::Diff, &[NONE, NONE]), Value::Uniform);
}

#[test]
fn idle_is_a_state_to_all_but_idle() {
    let mostly_idle = [NONE, NONE, A];
    assert_eq!(cell(Op::Max, &mostly_idle).value, Value::Idle);
    assert_eq!(cell(Op::Min, &mostly_idle).value, a());
    assert_eq!(cell(Op::Idle, &mostly_idle).value, a());
    let hardly_idle = [A, NONE, A];
    assert_eq!(cell(Op::Min, &hardly_idle).value, Value::Idle);
    // Two cells without colour that mean different things.
    let differs = cell(Op::Diff, &hardly_idle);
    assert_eq!(
        (differs.value, differs.picture(), differs.winning),
        (Value::DiffersIdle, None, 1)
    );
    assert_eq!(cell(Op::Diff, &[A, A]).value, Value::Uniform);
    assert_eq!(cell(Op::Diff, &[A, B, A]).value, Value::Differs(ClassId(1)));
}

#[test]
fn counts_come_with_the_state() {
    let cell = cell(Op::Max, &[A, NONE, A, GONE, B, A, GONE]);
    assert_eq!((cell.value, cell.winning, cell.total), (a(), 3, 7));
    assert_eq!((cell.idle, cell.absent, cell.distinct), (1, 2, 3));
    assert!((cell.agreement() - 3.0 / 7.0).abs() < 1e-12);
}

#[test]
fn absent_streams_count_as_idle_or_not_at_all() {
    let all = tally(&[GONE, A, GONE]);
    let show = |rule| all.cell(&Op::Max, Ties::StreamOrder, rule);
    assert_eq!(
        (
            show(AbsentRule::AsIdle).value,
            show(AbsentRule::AsIdle).total
        ),
        (Value::Idle, 3)
    );
    let left_out = show(AbsentRule::LeaveOut);
    assert_eq!(
        (left_out.value, left_out.total, left_out.absent),
        (a(), 1, 2)
    );
}

#[test]
fn ties() {
    let tied = tally(&[B, A, A, B]);
    let by = |ties| tied.cell(&Op::Max, ties, AbsentRule::AsIdle).value;
    assert_eq!(by(Ties::StreamOrder), b());
    assert_eq!(by(Ties::LowestStateId), a());
    assert_eq!(by(Ties::KeepPrevious), b());
}

#[test]
fn further_operations() {
    let states = [A, A, B, NONE];
    assert_eq!(
        cell(Op::Count(ClassId(0)), &states).value,
        Value::Number(2.0)
    );
    assert_eq!(
        cell(Op::Count(ClassId(9)), &states).value,
        Value::Number(0.0)
    );
    assert_eq!(cell(Op::Any(ClassId(1)), &states).value, b());
    assert_eq!(cell(Op::Any(ClassId(9)), &states).value, Value::Idle);
    let entropy = cell(Op::Entropy, &[A, B]).value.number().unwrap();
    assert!((entropy - std::f32::consts::LN_2).abs() < 1e-6);
    assert_eq!(cell(Op::Entropy, &[A, A]).value, Value::Number(0.0));
    let outliers = cell(Op::Outliers(2), &states);
    assert_eq!(
        (outliers.value, outliers.winning),
        (Value::Differs(ClassId(1)), 2)
    );
    assert_eq!(cell(Op::Outliers(1), &states).value, Value::Uniform);
    assert_eq!(cell(Op::Outliers(2), &[A, A]).value, Value::Uniform);
}

#[test]
fn an_operation_of_ones_own() {
    /// Selects the class of at least half the streams, or idle.
    #[derive(Debug)]
    struct Half;
    impl FoldOp for Half {
        fn fold(&self, counts: &Counts<'_>) -> Choice {
            let most = counts.most(|state| state != State::Idle);
            let half = most.filter(|entry| 2 * entry.weight >= counts.total());
            half.map_or(Choice::default(), |entry| Choice {
                value: Value::of(entry.state),
                winning: entry.weight,
            })
        }
    }
    let value = |states: &[State]| {
        let tally = tally(states);
        tally
            .cell(&Half, Ties::StreamOrder, AbsentRule::AsIdle)
            .value
    };
    assert_eq!(value(&[A, NONE, A, B]), a());
    assert_eq!(value(&[A, NONE, NONE]), Value::Idle);
}

#[test]
fn public_types_are_send_sync_and_unpin() {
    fn anywhere<T: Send + Sync + Unpin>() {}
    anywhere::<perf_fold::Timelines>();
    anywhere::<perf_fold::Folder>();
    anywhere::<perf_fold::Scratch>();
    anywhere::<perf_fold::Fold>();
    anywhere::<perf_fold::Groups>();
    anywhere::<perf_fold::Lines>();
    anywhere::<perf_fold::Error>();
    assert!(size_of::<Cell>() <= 48);
}
