// Two nodes on one network, each with an agent, a containerd and a proxy of its own, in namespaces of this machine.

import {closeSync, mkdirSync, openSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {Undo} from '#src/base/undo.js';
import {aDirectory, programFile, run as runProgram} from '#test/cli/programs.js';
import {hasKubectl} from '#test/e2e/kubectl.js';
import {startAgentWithin} from './agent-within.js';
import {startContainerd, type Containerd} from './containerd.js';
import {recipes} from './images/index.js';
import {connectNodes} from './network.js';
import {servicesMissing} from './requirements.js';
import {run} from './run.js';
import {untilWithin} from './until.js';

if (servicesMissing) console.log(`skipped: ${servicesMissing}`);
const contained = servicesMissing || !hasKubectl(23) ? test.skip : test.serial;
const until = untilWithin(60);

/** Starts one of our programs on a node, and resolves once it is ready. */
const startOn = async (t: ExecutionContext, node: Containerd, undo: Undo, program: string, args: readonly string[]): Promise<void> => {
  const log = join(node.folder, `${program}-${args[0]!.replaceAll(/\W/g, '')}.log`);
  const file = openSync(log, 'a');
  const command = [join(process.cwd(), programFile(program)), ...args];
  const {child, pid} = await node.namespaces.start(process.execPath, command, file).finally(() => closeSync(file));
  undo.defer(async () => {
    const ended = new Promise(resolve => child.once('close', resolve));
    process.kill(pid, 'SIGTERM');
    await ended;
  });
  await until(t, `${program} is ready`, () => {
    if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8'));
    return Promise.resolve(/^ready: /m.test(readFileSync(log, 'utf8')));
  });
};

/** Starts a plane with its agent on a node. Returns its directory. */
const startPlane = async (t: ExecutionContext, node: Containerd, undo: Undo): Promise<string> => {
  const directory = aDirectory();
  const flags = {
    'hostname-override': 'one',
    'container-runtime-endpoint': node.endpoint,
    'root-dir': join(node.agentFolder, 'root'),
    'cgroup-root': node.cgroup,
    'make-iptables-util-chains': 'false',
  };
  mkdirSync(flags['root-dir'], {recursive: true});
  const agent = Object.entries(flags).map(([flag, value]) => `--agent-arg=--${flag}=${value}`);
  const plane = ['--agent', '--secure-port=0', `--bind-address=${node.network.node}`, `--data-dir=${directory}`];
  await startOn(t, node, undo, 'plat', ['up', ...plane, ...agent]);
  return directory;
};

/** Starts an agent, a proxy and the routes of a second node. */
const joinPlane = async (t: ExecutionContext, node: Containerd, undo: Undo, directory: string): Promise<void> => {
  const settings = join(directory, 'kubeconfig');
  const agent = await startAgentWithin(node, 'two', settings, {
    authentication: {webhook: {enabled: true}, anonymous: {enabled: false}, x509: {clientCAFile: join(directory, 'pki', 'ca.crt')}},
    clusterDNS: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    makeIPTablesUtilChains: false,
  });
  undo.defer(async () => void (await agent.stop()));
  const requesting = ['certificate', 'request', 'proxy-two', '--user=system:kube-proxy', '--approve', `--kubeconfig=${settings}`];
  const proxySettings = join(node.folder, 'proxy.kubeconfig');
  const [enter = '', ...flags] = node.namespaces.enter;
  writeFileSync(proxySettings, await run(enter, ...flags, process.execPath, join(process.cwd(), programFile('plat')), ...requesting));
  const named = [`--kubeconfig=${proxySettings}`, '--hostname-override=two'];
  const own = ['--proxy-mode=nftables', '--cluster-cidr=10.244.0.0/16', '--conntrack-max-per-core=0'];
  await startOn(t, node, undo, 'plat-proxy', [...named, ...own]);
  await startOn(t, node, undo, 'plat', ['node', 'routes', ...named]);
};

const endless = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

contained('pods of two nodes reach each other with their own addresses, and services and names across nodes', async t => {
  await using undo = new Undo();
  const nodes: Containerd[] = [];
  for (let count = 0; count < 2; count++) {
    const node = await startContainerd({hasNetwork: false});
    undo.defer(() => node.stop());
    nodes.push(node);
  }
  const [one, two] = nodes as [Containerd, Containerd];
  await connectNodes({pid: one.namespaces.pid, network: one.network}, {pid: two.namespaces.pid, network: two.network});
  const directory = await startPlane(t, one, undo);
  await joinPlane(t, two, undo, directory);
  const kubectl = (...args: readonly string[]): Promise<string> =>
    run('nsenter', `--target=${one.namespaces.pid}`, '--net', 'kubectl', `--kubeconfig=${join(directory, 'kubeconfig')}`, ...args);

  for (const [name, node] of Object.entries({one, two})) {
    let range = '';
    await until(
      t,
      `node ${name} has a range`,
      async () => (range = await kubectl('get', 'node', name, '-o', 'jsonpath={.spec.podCIDR}')) !== '',
    );
    const {stdout} = await runProgram('plat', ['node', 'init', `--network-folder=${join(node.folder, 'cni/conf')}`, `--pod-cidr=${range}`]);
    t.true(stdout.includes(`pods get addresses of ${range}`), stdout);
  }
  await kubectl('wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=60s');

  const on = (node: string): string => JSON.stringify({spec: {nodeName: node}});
  const image = `--image=${recipes.busybox.reference}`;
  const echo = `mkdir -p /www/cgi-bin; printf '#!/bin/sh\\necho; echo $REMOTE_ADDR\\n' > /www/cgi-bin/who; chmod +x /www/cgi-bin/who; httpd -p 80 -h /www; ${endless}`;
  for (const node of ['one', 'two'])
    await kubectl('run', `web-${node}`, image, `--overrides=${on(node)}`, `--labels=app=${node}`, '--', 'sh', '-c', echo);
  await kubectl('wait', '--for=condition=Ready', 'pods', '--all', '--timeout=60s');
  for (const node of ['one', 'two']) await kubectl('expose', 'pod', `web-${node}`, '--port=80');
  const ipOf = (node: string): Promise<string> => kubectl('get', 'pod', `web-${node}`, '-o', 'jsonpath={.status.podIP}');
  const ips = {one: await ipOf('one'), two: await ipOf('two')};
  const fetched = async (from: string, host: string): Promise<string> =>
    (await kubectl('exec', `web-${from}`, '--', 'timeout', '5', 'wget', '-qO-', `http://${host}/cgi-bin/who`)).replaceAll(
      /^\[(?:::ffff:)?|\]\s*$/g,
      '',
    );

  for (const [from, to] of [
    ['one', 'two'],
    ['two', 'one'],
  ] as const) {
    t.is(await fetched(from, ips[to]), ips[from]);
    await until(t, `${from} reaches the service of ${to}`, async () => (await fetched(from, `web-${to}`).catch(() => '')) === ips[from]);
  }
});
