import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {namespaceLifecycle} from '#src/apiserver/admission/namespace-lifecycle.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import {chosenPlugins, createPlugins, pluginsInOrder} from '#src/apiserver/admission-plugins.js';
import {defaultAdmissionPlugins, optionalAdmissionPlugins} from '#src/options/apiserver/admission.js';
import {refusal, startEnvironment, words} from '#test/resources/environment.js';
import {aPluginContext} from './context.js';

const start = () => startEnvironment({admission: registry => [namespaceLifecycle(words, registryReader(registry))]});

test('nothing is written where there is no namespace', async t => {
  const {of} = await start();
  const refused = await refusal(of(kinds.configMaps).create({metadata: {name: 'c', namespace: 'nowhere'}}));

  t.like(refused, {code: 404, message: 'namespaces "nowhere" not found', details: {name: 'nowhere', kind: 'namespaces'}});
});

test('nothing is created in a terminating namespace, while existing objects can be updated and deleted', async t => {
  const {of} = await start();
  await of(kinds.namespaces).create({metadata: {name: 'going'}});
  const made = await of(kinds.configMaps).create({metadata: {name: 'c', namespace: 'going'}});
  await of(kinds.namespaces).delete('going');
  const refused = await refusal(of(kinds.configMaps).create({metadata: {name: 'd', namespace: 'going'}}));

  t.is(refused.code, 403);
  t.is(refused.message, 'configmaps "d" is forbidden: unable to create new content in namespace going because it is being terminated');
  t.deepEqual(refused.details?.causes, [
    {reason: 'NamespaceTerminating', message: 'namespace going is being terminated', field: 'metadata.namespace'},
  ]);
  await t.notThrowsAsync(of(kinds.configMaps).update({...made, data: {a: 'b'}}));
  await t.notThrowsAsync(of(kinds.configMaps).delete('c', {namespace: 'going'}));
});

test("the platform's own namespaces stay", async t => {
  const {of} = await start();
  for (const name of [words.systemNamespace, words.publicNamespace]) await of(kinds.namespaces).create({metadata: {name}});

  for (const name of ['default', words.systemNamespace, words.publicNamespace]) {
    t.is(
      (await refusal(of(kinds.namespaces).delete(name))).message,
      `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    );
  }
});

const pluginOrder = pluginsInOrder.map(([name]) => name);

test('the order knows every plugin once', t => {
  t.deepEqual([...pluginOrder].sort(), [...defaultAdmissionPlugins, ...optionalAdmissionPlugins].sort());
});

test('plugins run in their order, whatever the order of the options', t => {
  const plugins = createPlugins(
    {enable: ['AlwaysDeny', 'NodeRestriction', 'NodeDeclaredFeatureValidator', 'AlwaysAdmit'], disable: ['CertificateSigning']},
    aPluginContext(),
  );

  t.deepEqual(
    plugins.map(({name}) => name),
    pluginOrder.filter(name => plugins.some(plugin => plugin.name === name)),
  );
  t.true(['AlwaysAdmit', 'ServiceAccount', 'PodSecurity', 'AlwaysDeny'].every(name => plugins.some(plugin => plugin.name === name)));
  t.false(plugins.some(({name}) => name === 'CertificateSigning' || name === 'EventRateLimit'));
  t.throws(() => createPlugins({enable: ['EventRateLimit'], disable: []}, aPluginContext()), {
    message: /^--enable-admission-plugins: EventRateLimit needs a configuration/,
  });
  t.deepEqual([...chosenPlugins({enable: [], disable: [], exactly: ['NamespaceLifecycle']})], ['NamespaceLifecycle']);
});
