import {rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {aDirectory, Program, run as runProgram} from '#test/cli/programs.js';
import {startContainerd, type Containerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {run} from './run.js';
import {untilWithin} from './until.js';

const until = untilWithin(30);

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

let node: Containerd;
let plane: Plane;
const directory = aDirectory();
const name = 'joined';
const kubectl = (...args: readonly string[]): Promise<string> => run('kubectl', '--kubeconfig', join(directory, 'kubeconfig'), ...args);

test.before(async () => {
  if (containersMissing) return;
  node = await startContainerd();
  plane = await startPlane({
    naming: 'kubernetes',
    dataDir: directory,
    bootstrapTokens: true,
    apiserverArgs: [
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--platlet-preferred-address-types=InternalIP',
      `--platlet-certificate-authority=${join(directory, 'pki', 'ca.crt')}`,
    ],
    controllerManagerArgs: [
      `--controllers=${[
        'serviceaccount-controller',
        'root-ca-certificate-publisher-controller',
        'bootstrap-signer-controller',
        'certificatesigningrequest-approving-controller',
        'certificatesigningrequest-signing-controller',
        'node-serving-approving-controller',
      ].join(',')}`,
    ],
  });
});

test.after.always(async () => {
  if (containersMissing) return;
  await plane?.stop();
  await node?.stop();
  rmSync(directory, {recursive: true, force: true});
});

const aToken = async (): Promise<string> => {
  const {stdout, stderr, code} = await runProgram('plat', ['token', 'create'], {KUBECONFIG: join(directory, 'kubeconfig')});
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
};

const startAgent = (): Program =>
  new Program('platlet', [
    `--bootstrap-kubeconfig=${join(node.agentFolder, 'bootstrap.kubeconfig')}`,
    `--platconfig=${join(node.agentFolder, 'node.kubeconfig')}`,
    `--config=${join(node.agentFolder, 'config.yaml')}`,
    `--hostname-override=${name}`,
    `--root-dir=${join(node.agentFolder, 'root')}`,
    `--cert-dir=${join(node.agentFolder, 'pki')}`,
  ]);

const configuration = () => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: {x509: {clientCAFile: join(directory, 'pki', 'ca.crt')}},
  rotateCertificates: true,
  serverTLSBootstrap: true,
  containerRuntimeEndpoint: node.endpoint,
  cgroupRoot: node.cgroup,
  failCgroupV1: false,
  port: 19550,
  healthzPort: 19548,
  podLogsDir: join(node.agentFolder, 'logs'),
});

contained('a machine joins with a token, runs a pod, and serves its log with a certificate of the cluster', async t => {
  const token = await aToken();
  const discovery = await runProgram('plat', [
    'token',
    'discover',
    plane.url,
    `--token=${token}`,
    '--discovery-token-unsafe-skip-ca-verification',
  ]);
  t.is(discovery.code, 0, discovery.stderr);
  writeFileSync(join(node.agentFolder, 'bootstrap.kubeconfig'), discovery.stdout);
  writeFileSync(join(node.agentFolder, 'config.yaml'), JSON.stringify(configuration()));
  const started = Date.now();
  const agent = startAgent();
  try {
    await until(t, 'the node is ready', async () => {
      const found = await plane
        .client()
        .resource(kinds.nodes)
        .get(name)
        .catch(() => undefined);
      return found?.status?.conditions?.some(({type, status}) => type === 'Ready' && status === 'True');
    });
    t.log(`ready after ${Date.now() - started} ms`);
    await kubectl(
      'run',
      'hello',
      `--image=${recipes.busybox.reference}`,
      '--restart=Never',
      `--overrides={"spec":{"nodeName":"${name}"}}`,
      '--',
      'echo',
      'hello',
    );
    await kubectl('wait', 'pod/hello', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=30s');
    t.is(await until(t, 'the log is served', () => kubectl('logs', 'hello').catch(() => undefined)), 'hello\n');
    const requests = await kubectl('get', 'csr', '-o', 'jsonpath={range .items[*]}{.spec.signerName} {.spec.username}{"\\n"}{end}');
    const [id] = token.split('.');
    t.deepEqual(requests.trim().split('\n').toSorted(), [
      `kubernetes.io/kube-apiserver-client-kubelet system:bootstrap:${id}`,
      `kubernetes.io/kubelet-serving system:node:${name}`,
    ]);
  } finally {
    const {code, stderr} = await agent.stop();
    t.is(code, 0, stderr);
  }
});
