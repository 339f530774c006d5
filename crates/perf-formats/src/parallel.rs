//! Loops over many cores, or over one: the same results in the same order.

/// How many threads work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads(usize);

impl Threads {
    /// `count` threads; 0 for as many as there are cores.
    pub(crate) fn new(count: usize) -> Self {
        if cfg!(feature = "parallel") {
            Threads(count)
        } else {
            Threads(1)
        }
    }

    /// How many there are.
    pub(crate) fn count(self) -> usize {
        match self.0 {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            some => some,
        }
    }

    /// Runs `work`, whose loops of [`map`](Self::map) then use these threads.
    #[cfg(feature = "parallel")]
    pub(crate) fn install<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        if self.0 <= 1 {
            return work();
        }
        match rayon::ThreadPoolBuilder::new().num_threads(self.0).build() {
            Ok(pool) => pool.install(work),
            // The system grants no threads: those of everybody must do.
            Err(_) => work(),
        }
    }

    /// Runs `work`.
    #[cfg(not(feature = "parallel"))]
    pub(crate) fn install<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }

    /// `work` of each item, in order; the first error in that order if there is one.
    pub(crate) fn map<T, R, E>(
        self,
        items: &[T],
        work: impl Fn(&T) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E>
    where
        T: Sync,
        R: Send,
        E: Send,
    {
        #[cfg(feature = "parallel")]
        if self.0 != 1 {
            use rayon::prelude::*;
            let results: Vec<Result<R, E>> = items.par_iter().with_max_len(1).map(&work).collect();
            return results.into_iter().collect();
        }
        items.iter().map(work).collect()
    }
}

/// Threads that stay, for work that is done bit by bit.
#[cfg(feature = "paraver")]
#[derive(Debug)]
pub(crate) struct Pool(#[cfg(feature = "parallel")] Option<rayon::ThreadPool>);

#[cfg(feature = "paraver")]
impl Pool {
    /// `count` threads; those of everybody for 0 and 1, and where the system grants none.
    #[cfg(feature = "parallel")]
    pub(crate) fn new(count: usize) -> Self {
        let build = || rayon::ThreadPoolBuilder::new().num_threads(count).build();
        Pool((count > 1).then(build).and_then(Result::ok))
    }

    /// This thread alone.
    #[cfg(not(feature = "parallel"))]
    pub(crate) fn new(_: usize) -> Self {
        Pool()
    }

    /// Runs `work`, whose loops then use these threads.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.0 {
            return pool.install(work);
        }
        work()
    }

    /// Both, at once if there are threads for it.
    pub(crate) fn join<A: Send, B: Send>(
        &self,
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        #[cfg(feature = "parallel")]
        return self.install(|| rayon::join(a, b));
        #[cfg(not(feature = "parallel"))]
        return (a(), b());
    }
}
