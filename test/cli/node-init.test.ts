import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {runNode} from '#src/cli/node/clean.js';
import {networkFile, networkText} from '#src/cli/node/network.js';
import {nodeFlags} from '#src/options/programs/node.js';
import {commandHere} from './here.js';
import {aDirectory, run} from './programs.js';

const flagsOf = (folder: string) => [`--network-folder=${folder}`, '--container-runtime-endpoint=unix:///nowhere.sock'];
const nodeHere = commandHere(nodeFlags, runNode);
const init = (folder: string, ...more: string[]) => nodeHere('init', ...flagsOf(folder), ...more);

test('a network of both families gives each pod an address of each, and a default route', t => {
  const {plugins} = JSON.parse(networkText(['10.244.1.0/24', 'fd00:1::/64'], 'br0'));
  t.like(plugins[0], {
    type: 'bridge',
    bridge: 'br0',
    ipam: {ranges: [[{subnet: '10.244.1.0/24'}], [{subnet: 'fd00:1::/64'}]], routes: [{dst: '0.0.0.0/0'}, {dst: '::/0'}]},
  });
  t.like(plugins[1], {type: 'portmap', capabilities: {portMappings: true}});
});

test('plat node init writes the network once, says what is missing, and replaces another network only if it is forced', async t => {
  const folder = aDirectory();
  const file = join(folder, networkFile);
  const first = await run('plat', ['node', 'init', ...flagsOf(folder)]);
  t.regex(first.stdout, /^wrote .*10-plat.conflist: pods get addresses of 10.244.0.0\/24\n/);
  t.regex(first.stdout, /missing container runtime: .*nowhere.sock.*Install containerd/);
  t.is(first.code, 1);
  t.is(readFileSync(file, 'utf8'), networkText(['10.244.0.0/24'], 'cni0'));
  t.regex((await init(folder)).stdout, /stays as it is/);

  const other = await init(folder, '--pod-cidr=10.244.7.0/24');
  t.regex(other.stderr, /10-plat.conflist differs; --force replaces it/);
  t.regex((await init(folder, '--pod-cidr=10.244.7.0/24', '--force')).stdout, /pods get addresses of 10.244.7.0\/24/);
  t.regex(readFileSync(file, 'utf8'), /10.244.7.0/);
});

test('plat node init lets the network of somebody else be', async t => {
  const folder = aDirectory();
  writeFileSync(join(folder, '05-calico.conflist'), '{}');
  t.regex((await init(folder)).stdout, /has a network already, which stays: 05-calico.conflist/);
  t.throws(() => readFileSync(join(folder, networkFile)), {code: 'ENOENT'});
});

test('plat node init refuses two ranges of a family', async t => {
  const {code, stderr} = await init(aDirectory(), '--pod-cidr=10.0.0.0/24,10.1.0.0/24');
  t.is(code, 1);
  t.regex(stderr, /--pod-cidr must hold ranges of different IP families/);
});
