//! A plane for tests: one for all that run at the same time, stopped with the last of them.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use tempfile::TempDir;

static SHARED: Mutex<Weak<Plane>> = Mutex::new(Weak::new());

pub struct Plane {
    program: Child,
    folder: TempDir,
}

impl Plane {
    pub fn shared() -> Arc<Plane> {
        let mut shared = SHARED.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let plane = Arc::new(Plane::start());
            *shared = Arc::downgrade(&plane);
            plane
        })
    }

    fn start() -> Plane {
        let folder = tempfile::tempdir().unwrap();
        let mut program = Command::new(std::env::var("PLAT").unwrap_or("plat".into()))
            .args([
                "up",
                "-o",
                "json",
                "--quiet",
                "--config=../plane.yaml",
                "--secure-port=0",
                "--data-dir",
            ])
            .arg(folder.path())
            .env("PLAT_HOME", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("plat is on the PATH, or PLAT names it");
        let mut ready = String::new();
        BufReader::new(program.stdout.as_mut().unwrap())
            .read_line(&mut ready)
            .unwrap();
        assert!(!ready.is_empty(), "the plane did not start");
        Plane { program, folder }
    }

    pub async fn client(&self) -> Client {
        let file = Kubeconfig::read_from(self.folder.path().join("kubeconfig")).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .unwrap();
        Client::try_from(config).unwrap()
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
