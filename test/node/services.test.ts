import test from 'ava';
import {hasKubectl} from '#test/e2e/kubectl.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {servicesMissing} from './requirements.js';
import {untilWithin} from './until.js';
import {upWithin} from './up-within.js';

if (servicesMissing) console.log(`skipped: ${servicesMissing}`);
const contained = servicesMissing || !hasKubectl(23) ? test.skip : test.serial;
const until = untilWithin(30);

const endless = "trap 'exit 0' TERM; while true; do sleep 0.1; done";

/** Prints what a URL responds with, or why it does not. */
const fetching = (url: string): string =>
  `fetch(${JSON.stringify(url)}, {signal: AbortSignal.timeout(5000)}).then(r => r.text(), e => String(e.cause?.code ?? e)).then(console.log)`;

contained('pods of plat up --agent reach services by their names, and the API server', async t => {
  await using node = await startContainerd({images: ['busybox', 'node']});
  await using plane = await upWithin(t, node);
  const {kubectl} = plane;
  const inPod = (...command: readonly string[]): Promise<string> => kubectl('exec', 'client', '--', ...command);
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
