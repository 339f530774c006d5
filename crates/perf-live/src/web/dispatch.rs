//! [`Dispatcher`]: entry point of HTTP requests, which passes pushes of ranks to their handler
//! directly and all others through the router.

use super::app::{App, turned_away};
use super::handlers::client_messages;
use crate::wire;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

/// Dispatches requests. Push messages of ranks are frequent, so they bypass the router and go
/// directly to their handler. All other requests go through the router, which also has a route to
/// this handler.
#[derive(Clone, Debug)]
pub(super) struct Dispatcher {
    /// Shared state.
    app: Arc<App>,
    /// Router for all other requests.
    router: TowerToHyperService<Router>,
}

impl Dispatcher {
    pub(super) fn new(app: Arc<App>, router: Router) -> Self {
        let router = TowerToHyperService::new(router);
        Dispatcher { app, router }
    }
}

impl Service<hyper::Request<Incoming>> for Dispatcher {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        if request.method() == Method::POST && request.uri().path() == wire::PUSH {
            return Box::pin(push(Arc::clone(&self.app), request.map(Body::new)));
        }
        Box::pin(self.router.call(request))
    }
}

async fn push(app: Arc<App>, request: Request) -> Result<Response, Infallible> {
    Ok(match turned_away(&app, request.headers()) {
        Some(refused) => refused,
        None => client_messages::push(State(app), request).await,
    })
}
