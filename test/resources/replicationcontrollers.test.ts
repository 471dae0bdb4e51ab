import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {problems, startEnvironment} from './environment.js';
import {gate, here, template} from './pods.js';

test('the selector of a replication controller defaults to the labels of its template', async t => {
  const {of, row} = await startEnvironment({gate});
  const controllers = of(kinds.replicationControllers);
  const made = await controllers.create({metadata: {name: 'web', namespace: 'default'}, spec: {template}});

  t.deepEqual(made.spec?.selector, {app: 'web'});
  t.deepEqual(made.metadata?.labels, {app: 'web'});
  t.deepEqual(made.status, {replicas: 0});
  t.is(made.spec?.replicas, 1);
  t.deepEqual(Object.fromEntries(Object.entries(await row(kinds.replicationControllers, made)).filter(([name]) => name !== 'Age')), {
    Name: 'web',
    Desired: 1,
    Current: 0,
    Ready: 0,
    Containers: 'c',
    Images: 'nginx',
    Selector: 'app=web',
  });
  const scaled = await controllers.patch('web', 'merge', {spec: {replicas: 3}}, {...here, subresource: 'scale'});
  t.is(scaled.kind, 'Scale');
  t.is((await controllers.get('web', here)).metadata?.generation, 2);
  t.deepEqual(
    await problems(
      controllers.update(
        {...made, metadata: {name: 'web', namespace: 'default'}, status: {replicas: 1, readyReplicas: 2}},
        {subresource: 'status'},
      ),
    ),
    ['status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas'],
  );
});

for (const [what, spec, expected] of [
  ['no template', {selector: {a: 'b'}}, ['spec.template: Required value']],
  [
    'another selector',
    {selector: {a: 'b'}, template},
    ['spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'],
  ],
  [
    'pods that end',
    {template: {...template, spec: {...template.spec, restartPolicy: 'Never'}}},
    ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
  ],
  [
    'a pod without image',
    {template: {...template, spec: {containers: [{name: 'c'}]}}},
    ['spec.template.spec.containers[0].image: Required value'],
  ],
] as const) {
  test(`a replication controller with ${what} is refused`, async t => {
    const {of} = await startEnvironment({gate});

    t.deepEqual(await problems(of(kinds.replicationControllers).create({metadata: {name: 'web', namespace: 'default'}, spec} as never)), [
      ...expected,
    ]);
  });
}

test('a template of pods stands alone, and counts its changes', async t => {
  const {of, row} = await startEnvironment({gate});
  const templates = of(kinds.podTemplates);
  const made = await templates.create({metadata: {name: 'web', namespace: 'default'}, template});

  t.is(made.template?.spec?.restartPolicy, 'Always');
  t.deepEqual(await row(kinds.podTemplates, made), {Name: 'web', Containers: 'c', Images: 'nginx', 'Pod Labels': 'app=web'});
  const changed = await templates.update({...made, template: {...made.template!, metadata: {labels: {app: 'other'}}}});
  t.is(changed.metadata?.generation, 2);
  t.deepEqual(await problems(templates.update({...changed, template: {spec: {containers: []}}})), [
    'template.spec.containers: Required value',
  ]);
});
