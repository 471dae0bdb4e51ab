import {chmodSync, writeFileSync} from 'node:fs';
import {delimiter, join} from 'node:path';
import test from 'ava';
import {clusterCredentials} from '#bench/load/credentials.js';
import {hasOriginal, hasOriginalNodes, originalApiServerFlags, originalManagerFlags, originalSchedulerFlags} from '#bench/load/original.js';
import {parseFlags} from '#src/options/parse.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {schedulerFlags} from '#src/options/programs/scheduler.js';
import {aDirectory} from '#test/cli/programs.js';

test('the original is measured if etcd and all its programs are on the PATH, and with nodes if kwok is and its stages are named', t => {
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
  program(other, 'kube-scheduler');
  t.true(hasOriginal(path));
  t.false(hasOriginalNodes(path, one));

  program(one, 'kwok');
  t.true(hasOriginalNodes(path, one));
  t.false(hasOriginalNodes(path, undefined), 'kwok does nothing without stages');
  t.false(hasOriginal(''));
});

test('the flags of the original are flags that servers of this API have', async t => {
  const directory = aDirectory();
  const credentials = await clusterCredentials(directory);
  const places = {
    credentials,
    kubeconfig: join(directory, 'kubeconfig'),
    etcdUrl: 'http://127.0.0.1:2379',
    port: 6443,
    managerPort: 10257,
    schedulerPort: 10259,
  };
  // Some flags have other names here.
  const server = originalApiServerFlags(places).map(flag => flag.replace('--etcd-servers', '--kvstore-servers'));
  const manager = originalManagerFlags(places).map(flag => flag.replace('--kube', '--plat'));

  t.is(parseFlags(apiserverFlags, server).options.securePort, 6443);
  t.is(parseFlags(controllerManagerFlags, manager).options.securePort, 10_257);
  const scheduler = originalSchedulerFlags(places).map(flag => flag.replace('--kube', '--plat'));
  t.is(parseFlags(schedulerFlags, scheduler).options.securePort, 10_259);
});
