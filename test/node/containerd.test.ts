import {existsSync, readFileSync} from 'node:fs';
import test from 'ava';
import {connectNodes} from './network.js';
import {Registry} from './registry.js';
import {startContainerd} from './containerd.js';
import {containersMissing} from './requirements.js';
import {run} from './run.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test;

contained('a containerd has the images, and leaves nothing on the host', async t => {
  const containerd = await startContainerd();
  const images = await containerd.ctr('images', 'list', '-q');
  t.deepEqual(
    images.split('\n').filter(name => name.startsWith('plat.local')),
    ['plat.local/busybox:1', 'plat.local/pause:1'],
  );
  await containerd.kill();
  await containerd.start();
  t.is(containerd.leftovers().join('\n'), '');

  await containerd.stop();

  t.is(containerd.leftovers().join('\n'), '');
  t.false(existsSync(containerd.folder));
});

contained('what is left on a node is named', async t => {
  await using containerd = await startContainerd({images: []});
  const [enter = '', ...flags] = containerd.namespaces.enter;
  await run(enter, ...flags, 'sh', '-c', `ip netns add left; mkdir ${containerd.folder}/m; mount -t tmpfs left ${containerd.folder}/m`);
  const {child, pid} = await containerd.namespaces.start('sleep', ['100'], 1);
  // Until then it is the program that enters the namespaces.
  while (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep')) await new Promise(resolve => setImmediate(resolve));

  t.deepEqual(containerd.leftovers(), [`process ${pid} sleep 100`, 'network namespace left', `mount ${containerd.folder}/m`]);

  child.unref();
});

contained('nodes that are connected reach each other', async t => {
  await using one = await startContainerd({images: []});
  await using other = await startContainerd({images: []});
  const end = ({namespaces, network}: typeof one) => ({pid: namespaces.pid, network});
  await connectNodes(end(one), end(other));

  const [enter = '', ...flags] = one.namespaces.enter;
  t.regex(await run(enter, ...flags, 'busybox', 'ping', '-c', '1', '-W', '2', other.network.node), /1 packets received/);
  t.regex(await run('busybox', 'ping', '-c', '1', '-W', '2', one.network.node), /1 packets received/);
});

contained('a registry serves images to those who know its password', async t => {
  await using containerd = await startContainerd({images: []});
  await using registry = await Registry.start({address: containerd.network.host, credentials: {username: 'user', password: 'secret'}});
  registry.add('team/busybox', '1', 'busybox');
  containerd.addRegistry('registry.test', registry.url);
  const pull = async (...flags: readonly string[]) =>
    await containerd.ctr('images', 'pull', '--hosts-dir', `${containerd.folder}/registries`, ...flags, 'registry.test/team/busybox:1');
  await t.throwsAsync(pull(), {message: /401 Unauthorized/});
  registry.faults.push({request: /manifests/, status: 403, times: 1});
  await t.throwsAsync(pull('--user', 'user:secret'), {message: /403 Forbidden/});

  await pull('--user', 'user:secret');

  t.regex(await containerd.ctr('images', 'list', '-q'), /^registry\.test\/team\/busybox:1$/m);
  t.true(registry.requests.includes('HEAD /v2/team/busybox/manifests/1 200'));
});
