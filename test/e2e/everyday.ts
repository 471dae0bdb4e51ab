// A plane for everyday commands of kubectl, which the tests of a file share.
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl} from './kubectl.js';

/** A directory for the files that kubectl reads. */
export const directory = mkdtempSync(join(tmpdir(), 'plat-everyday-'));
export const settings = join(directory, 'kubeconfig');
/** Older ones have commands that speak versions which are no longer served. */
const fits = hasKubectl(25);
let plane: Plane | undefined;
export const kubectl = new Kubectl(settings);

test.before(async () => {
  if (!fits) return;
  plane = await startPlane({
    naming: 'kubernetes',
    kubeconfig: settings,
    controllerManagerArgs: [
      '--controllers=namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller',
    ],
  });
});
test.after.always(async () => {
  kubectl[Symbol.dispose]();
  await plane?.stop();
  rmSync(directory, {recursive: true, force: true});
});

export const sees = fits ? test : test.skip;

/** A namespace of a test's own, and kubectl in it. Several commands run side by side. */
export const within = async (namespace: string) => {
  await plane!
    .client()
    .resource(kinds.namespaces)
    .create({metadata: {name: namespace}});
  const accounts = plane!.client().resource(kinds.serviceAccounts);
  while ((await accounts.list({namespace})).items.length === 0) await setImmediate(); // Pods need one, and a controller makes it.
  const okay = (args: readonly string[], input?: string) => kubectl.okay(['-n', namespace, ...args], input);
  return {
    okay,
    ok: (args: string, input?: string) => okay(args.split(' '), input),
    all: (...commands: readonly string[]) => Promise.all(commands.map(args => okay(args.split(' ')))),
    try: (args: string, input?: string) => kubectl.run(['-n', namespace, ...args.split(' ')], input),
  };
};

export const file = (name: string, text: string, mode = 0o644): string => {
  const path = join(directory, name);
  writeFileSync(path, text, {mode});
  return path;
};
export const documents = (...objects: readonly object[]): string => objects.map(object => JSON.stringify(object)).join('\n');

export const containers = [{name: 'c', image: 'nginx:1'}];
export const workload = (kind: string, name: string, spec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: {name, labels: {app: name}},
  spec: {selector: {matchLabels: {app: name}}, template: {metadata: {labels: {app: name}}, spec: {containers}}, ...spec},
});
