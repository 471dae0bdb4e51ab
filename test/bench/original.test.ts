import {chmodSync, writeFileSync} from 'node:fs';
import {delimiter, join} from 'node:path';
import test from 'ava';
import {clusterCredentials} from '#bench/load/credentials.js';
import {hasOriginal, originalApiServerFlags, originalManagerFlags} from '#bench/load/original.js';
import {parseFlags} from '#src/options/parse.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {aDirectory} from '#test/cli/programs.js';

test('the original is measured if etcd, its server and its controller manager are all on the PATH', t => {
  const [one, other] = [aDirectory(), aDirectory()];
  const program = (folder: string, name: string) => {
    writeFileSync(join(folder, name), '');
    chmodSync(join(folder, name), 0o755);
  };
  program(one, 'etcd');
  program(one, 'kube-apiserver');
  const path = [one, other].join(delimiter);
  t.false(hasOriginal(path));

  program(other, 'kube-controller-manager');
  t.true(hasOriginal(path));
  t.false(hasOriginal(''));
});

test('the flags of the original are flags that servers of this API have', async t => {
  const directory = aDirectory();
  const credentials = await clusterCredentials(directory);
  const places = {credentials, kubeconfig: join(directory, 'kubeconfig'), etcdUrl: 'http://127.0.0.1:2379', port: 6443, managerPort: 10257};
  // Some flags have other names here.
  const server = originalApiServerFlags(places).map(flag => flag.replace('--etcd-servers', '--kvstore-servers'));
  const manager = originalManagerFlags(places).map(flag => flag.replace('--kube', '--plat'));

  t.is(parseFlags(apiserverFlags, server).options.securePort, 6443);
  t.is(parseFlags(controllerManagerFlags, manager).options.securePort, 10_257);
});
