import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {systemClock} from '#src/base/clock.js';
import {createLog} from '#src/observe/log.js';
import {runAgent} from './agent-program.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {untilWithin} from './until.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const until = untilWithin(20);
const contained = containersMissing ? test.skip : test.serial;

contained('an agent whose API server is not there, and that has no certificate yet, runs the pods of its files', async t => {
  await using node = await startContainerd();
  const manifests = join(node.agentFolder, 'manifests');
  mkdirSync(manifests);
  const app = {name: 'app', image: recipes.busybox.reference, command: ['sh', '-c', 'exec sleep 600']};
  const spec = {terminationGracePeriodSeconds: 0, containers: [app]};
  writeFileSync(join(manifests, 'app.json'), JSON.stringify({apiVersion: 'v1', kind: 'Pod', metadata: {name: 'app'}, spec}));
  const bootstrap = join(node.agentFolder, 'bootstrap');
  const settings = {
    clusters: [{name: 'c', cluster: {server: 'https://127.0.0.1:9', 'insecure-skip-tls-verify': true}}],
    users: [{name: 'u', user: {token: 'abcdef.0123456789abcdef'}}],
    contexts: [{name: 'x', context: {cluster: 'c', user: 'u'}}],
    'current-context': 'x',
  };
  writeFileSync(bootstrap, JSON.stringify(settings));
  const config = join(node.agentFolder, 'config');
  const fields = {
    rotateCertificates: true,
    staticPodPath: manifests,
    fileCheckFrequency: '100ms',
    containerRuntimeEndpoint: node.endpoint,
    cgroupRoot: node.cgroup,
    failCgroupV1: false,
    authentication: {webhook: {enabled: false}, anonymous: {enabled: true}},
    authorization: {mode: 'AlwaysAllow'},
    port: 19570,
    readOnlyPort: 19575,
    healthzPort: 19568,
    podLogsDir: join(node.agentFolder, 'logs'),
  };
  writeFileSync(config, JSON.stringify({apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', ...fields}));
  await using agent = runAgent(
    [
      '--hostname-override=alone',
      `--config=${config}`,
      `--bootstrap-kubeconfig=${bootstrap}`,
      `--platconfig=${join(node.agentFolder, 'platconfig')}`,
      `--root-dir=${join(node.agentFolder, 'root')}`,
      `--cert-dir=${join(node.agentFolder, 'pki')}`,
    ],
    createLog({clock: systemClock, program: 'platlet', write() {}}),
  );
  // The naming is that of the configuration file.
  t.regex(await agent.ready, /^node alone at work against https:\/\/127\.0\.0\.1:9 \(kubernetes naming\)/);
  const isReady = async (): Promise<boolean> => {
    const {items} = (await (await fetch('http://127.0.0.1:19575/pods')).json()) as {readonly items: readonly Pod[]};
    return items[0]?.status?.containerStatuses?.[0]?.ready === true;
  };
  t.true(await until(t, 'the pod runs', isReady));
  t.is((await fetch('http://127.0.0.1:19568/healthz')).status, 200);
});
