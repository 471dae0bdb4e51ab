// Measures how long plat, envtest's programs and kwok take until they are ready, and their memory ten seconds later:
// the figures of the README's table. In turns in one run; median of the rounds. Needs etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler, kwok and kwokctl on the PATH; what is missing is left out, in words.
//
//   make build && PATH=$PATH:/path/to/the/binaries node tools/start-times.mjs [ROUNDS]
import {execFile, execFileSync, spawn} from 'node:child_process';
import {accessSync, mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {get} from 'node:https';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {promisify} from 'node:util';

const run = promisify(execFile);
const rounds = Number(process.argv[2] ?? 5);
const mark = `PLAT_START_TIMES=${process.pid}`;

const onPath = name =>
  process.env.PATH.split(':')
    .map(folder => join(folder, name))
    .find(file => {
      try {
        accessSync(file);
        return true;
      } catch {
        return false;
      }
    });

const freePort = () =>
  new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const {port} = server.address();
      server.close(() => resolve(port));
    });
  });

const isReady = port =>
  new Promise(resolve => {
    get({host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false, timeout: 1000}, response => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });

/** The processes of a round by their environment, also those that left their parent. */
const processes = () =>
  readdirSync('/proc').filter(pid => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  });

const memory = () =>
  processes().reduce((sum, pid) => sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0), 0) / 1000;

const environment = folder => ({...process.env, HOME: folder, PLAT_HOME: join(folder, 'plat-home'), PLAT_START_TIMES: String(process.pid)});
const start = (folder, command, args) => spawn(command, args, {cwd: folder, stdio: ['ignore', 'pipe', 'ignore'], env: environment(folder)});

const plat = {
  needs: ['bin/plat'],
  start: async folder => {
    const child = start(folder, process.execPath, [
      join(process.cwd(), 'bin/plat'),
      'up',
      `--data-dir=${folder}/data`,
      '--secure-port=0',
      '--quiet',
    ]);
    for await (const chunk of child.stdout) if (String(chunk).startsWith('ready')) return;
    throw new Error('plat up ended');
  },
};

const envtest = {
  needs: ['etcd', 'kube-apiserver'],
  start: async folder => {
    const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
    execFileSync('openssl', ['genrsa', '-out', `${folder}/sa.key`, '2048'], {stdio: 'ignore'});
    const began = performance.now();
    start(folder, onPath('etcd'), [
      `--data-dir=${folder}/etcd`,
      '--unsafe-no-fsync',
      `--listen-client-urls=http://127.0.0.1:${client}`,
      `--advertise-client-urls=http://127.0.0.1:${client}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
    ]);
    start(folder, onPath('kube-apiserver'), [
      `--etcd-servers=http://127.0.0.1:${client}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      `--cert-dir=${folder}/certs`,
      '--service-cluster-ip-range=10.0.0.0/24',
      '--disable-admission-plugins=ServiceAccount',
      '--allow-privileged=true',
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://127.0.0.1',
      `--service-account-key-file=${folder}/sa.key`,
      `--service-account-signing-key-file=${folder}/sa.key`,
    ]);
    while (!(await isReady(port))) await sleep(10);
    return began;
  },
};

const kwok = {
  needs: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok', 'kwokctl'],
  start: async folder => {
    const binaries = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map(
      name => `--${name}-binary=${onPath(name)}`,
    );
    const args = [
      'create',
      'cluster',
      '--name=times',
      '--runtime=binary',
      '--wait=120s',
      ...binaries,
      `--kwok-controller-binary=${onPath('kwok')}`,
    ];
    await run(onPath('kwokctl'), args, {env: environment(folder)});
  },
};

const measure = async subject => {
  const folder = mkdtempSync(join(tmpdir(), 'start-times-'));
  try {
    const called = performance.now();
    const began = (await subject.start(folder)) ?? called;
    const milliseconds = performance.now() - began;
    await sleep(10_000);
    return {milliseconds, megabytes: memory()};
  } finally {
    for (const pid of processes()) process.kill(Number(pid), 'SIGKILL');
    await sleep(500);
    rmSync(folder, {recursive: true, force: true});
  }
};

const median = values => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];

const subjects = Object.entries({plat, envtest, kwok}).filter(([name, {needs}]) => {
  const missing = needs.filter(file => !file.includes('/') && !onPath(file));
  if (missing.length > 0) console.log(`${name}: left out, since ${missing.join(', ')} is not on the PATH`);
  return missing.length === 0;
});
const results = new Map(subjects.map(([name]) => [name, []]));
for (let round = 0; round < rounds; round++) for (const [name, subject] of subjects) results.get(name).push(await measure(subject));
for (const [name, found] of results)
  console.log(
    `${name.padEnd(8)} ready after ${(median(found.map(each => each.milliseconds)) / 1000).toFixed(2)} s, ${Math.round(median(found.map(each => each.megabytes)))} MB (median of ${rounds})`,
  );
process.exit(0);
