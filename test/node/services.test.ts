import {closeSync, existsSync, mkdirSync, openSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {aDirectory, programFile} from '#test/cli/programs.js';
import {hasKubectl} from '#test/e2e/kubectl.js';
import {startContainerd, type Containerd} from './containerd.js';
import {recipes} from './images/index.js';
import {servicesMissing} from './requirements.js';
import {run} from './run.js';
import {untilWithin} from './until.js';

if (servicesMissing) console.log(`skipped: ${servicesMissing}`);
const contained = servicesMissing || !hasKubectl(23) ? test.skip : test.serial;
const until = untilWithin(30);

interface PlaneWithin extends AsyncDisposable {
  kubectl(...args: readonly string[]): Promise<string>;
  /** Runs a command in the client pod. */
  inPod(...command: readonly string[]): Promise<string>;
  output(): string;
}

/** Starts `plat up --agent` on a node, where its proxy and its DNS server are alone. */
const upWithin = async (t: ExecutionContext, node: Containerd): Promise<PlaneWithin> => {
  const directory = aDirectory();
  const log = join(node.folder, 'plat.log');
  const file = openSync(log, 'a');
  const flags = {
    'hostname-override': 'here',
    'container-runtime-endpoint': node.endpoint,
    'root-dir': join(node.agentFolder, 'root'),
    'cgroup-root': node.cgroup,
    'make-iptables-util-chains': 'false',
  };
  mkdirSync(flags['root-dir'], {recursive: true});
  const args = [
    join(process.cwd(), programFile('plat')),
    'up',
    '--agent',
    '--secure-port=0',
    `--data-dir=${directory}`,
    `--controller-manager-arg=--cluster-cidr=${node.network.pods.replace(/\d+\.0\/24$/, '0.0/16')}`,
    ...Object.entries(flags).map(([flag, value]) => `--agent-arg=--${flag}=${value}`),
  ];
  const {child, pid} = await node.namespaces.start(process.execPath, args, file).finally(() => closeSync(file));
  const output = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
  await until(t, 'the plane is ready', async () => {
    if (child.exitCode !== null) throw new Error(output());
    return /^ready: /m.test(output());
  });
  const kubectl = (...rest: readonly string[]): Promise<string> =>
    run('nsenter', `--target=${node.namespaces.pid}`, '--net', 'kubectl', `--kubeconfig=${join(directory, 'kubeconfig')}`, ...rest);
  return {
    kubectl,
    inPod: (...command) => kubectl('exec', 'client', '--', ...command),
    output,
    async [Symbol.asyncDispose]() {
      const ended = new Promise(resolve => child.once('close', resolve));
      process.kill(pid, 'SIGTERM');
      await ended;
    },
  };
};

const endless = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

/** Prints what a URL responds with, or why it does not. */
const fetching = (url: string): string =>
  `fetch(${JSON.stringify(url)}, {signal: AbortSignal.timeout(5000)}).then(r => r.text(), e => String(e.cause?.code ?? e)).then(console.log)`;

contained('pods of plat up --agent reach services by their names, and the API server', async t => {
  await using node = await startContainerd({images: ['busybox', 'node']});
  await using plane = await upWithin(t, node);
  const {kubectl, inPod} = plane;
  const get = async (url: string): Promise<string> => (await inPod('node', '-e', fetching(url))).trim();
  const serving = `mkdir /www; echo hello > /www/index.html; httpd -p 80 -h /www; ${endless}`;
  const busybox = `--image=${recipes.busybox.reference}`;
  await kubectl('create', 'deployment', 'web', busybox, '--port=80', '--', 'sh', '-c', serving);
  await kubectl('expose', 'deployment', 'web');
  await kubectl('run', 'client', `--image=${recipes.node.reference}`, '--restart=Never', '--', 'sh', '-c', endless);
  await kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=60s');
  await kubectl('wait', '--for=condition=Ready', 'pod/client', '--timeout=60s');

  t.regex(await inPod('cat', '/etc/resolv.conf'), /nameserver 10\.96\.0\.10\n/);
  await until(t, 'the service answers', async () => (await get('http://web')) === 'hello');
  t.is(await get('http://web.default.svc.cluster.local'), 'hello');
  t.regex(await inPod('nslookup', 'kubernetes.default.svc.cluster.local'), /Address: 10\.96\.0\.1\n/);
  // Its certificate is the plane's own, which Node.js does not trust.
  t.regex(await get('https://kubernetes.default/healthz'), /UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN/);
  t.is(await get('http://nowhere.default.svc.cluster.local'), 'ENOTFOUND');

  await kubectl('scale', 'deployment/web', '--replicas=0');
  await until(t, 'the service refuses', async () => (await get('http://web')) === 'ECONNREFUSED');
});
