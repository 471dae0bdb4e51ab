import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl, table} from './kubectl.js';

const spec = {
  type: 'object',
  description: 'What a cron tab does.',
  required: ['schedule'],
  properties: {
    schedule: {type: 'string', description: 'When it runs.', pattern: '^(\\d+|\\*)(\\s+(\\d+|\\*)){4}$'},
    replicas: {type: 'integer', default: 2},
  },
  'x-kubernetes-validations': [{rule: 'self.replicas <= 5', message: 'too many'}],
};

const definition = (schema: object = spec, names: object = {}) =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: 'crontabs.example.com'},
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: {plural: 'crontabs', kind: 'CronTab', shortNames: ['ct'], ...names},
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {spec: schema, status: {type: 'object', properties: {replicas: {type: 'integer'}}}},
            },
          },
          subresources: {status: {}, scale: {specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas'}},
          additionalPrinterColumns: [
            {name: 'Schedule', type: 'string', jsonPath: '.spec.schedule'},
            {name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas'},
          ],
          selectableFields: [{jsonPath: '.spec.schedule'}],
        },
      ],
    },
  });

const crontab = (name: string, more: object = {}) =>
  JSON.stringify({apiVersion: 'example.com/v1', kind: 'CronTab', metadata: {name}, spec: {schedule: '* * * * *', ...more}});

(hasKubectl() ? test : test.skip)(
  'kubectl defines a resource, uses it like one that was always there, and removes it with its objects',
  async t => {
    const directory = mkdtempSync(join(tmpdir(), 'plat-custom-'));
    const settings = join(directory, 'settings.yaml');
    await using _ = await startPlane({naming: 'kubernetes', kubeconfig: settings, controllerManagerArgs: ['--controllers=']});
    using kubectl = new Kubectl(settings);
    const refused = await kubectl.try('apply -f -', definition({...spec, properties: {...spec.properties, replicas: {type: 'int'}}}));
    t.regex(
      refused.stderr,
      /^The CustomResourceDefinition "crontabs\.example\.com" is invalid: ?[^]*spec\.validation\.openAPIV3Schema\.properties\[spec\]\.properties\[replicas\]\.type: Unsupported value: "int"/,
    );
    t.is(await kubectl.ok('apply -f -', definition()), 'customresourcedefinition.apiextensions.k8s.io/crontabs.example.com created\n');
    t.is(
      await kubectl.ok('wait --for=condition=Established crd/crontabs.example.com --timeout=10s'),
      'customresourcedefinition.apiextensions.k8s.io/crontabs.example.com condition met\n',
    );
    t.is(await kubectl.ok('apply --server-side -f -', crontab('daily')), 'crontab.example.com/daily serverside-applied\n');
    t.is(await kubectl.ok('apply -f -', crontab('hourly', {schedule: '0 * * * *'})), 'crontab.example.com/hourly created\n');
    t.deepEqual(table(await kubectl.ok('get ct')), {
      columns: ['NAME', 'SCHEDULE', 'REPLICAS'],
      rows: {daily: ['* * * * *', '2'], hourly: ['0 * * * *', '2']},
    });
    t.is(await kubectl.okay(['get', 'crontabs', '--field-selector=spec.schedule=0 * * * *', '-o', 'name']), 'crontab.example.com/hourly\n');
    t.regex(await kubectl.ok('explain ct.spec'), /schedule\t<string> -required-\s+When it runs\./);
    t.regex((await kubectl.try('apply -f -', crontab('odd', {schedule: 'now', other: 1}))).stderr, /unknown field "spec\.other"/);
    t.regex(
      (await kubectl.try('apply --validate=false -f -', crontab('odd', {schedule: 'now'}))).stderr,
      /spec\.schedule: Invalid value: "now": spec\.schedule in body should match/,
    );
    t.regex(
      (await kubectl.try('apply -f -', crontab('odd', {replicas: 9}))).stderr,
      /The CronTab "odd" is invalid: spec: Invalid value: too many/,
    );
    await kubectl.ok('scale ct/daily --replicas=3');
    t.is(await kubectl.ok('get ct daily -o jsonpath={.spec.replicas}'), '3');
    await kubectl.ok('patch ct daily --subresource=status --type=merge -p {"status":{"replicas":3}}');
    t.is(await kubectl.ok('get ct daily --subresource=scale -o jsonpath={.status.replicas}'), '3');
    t.is(
      await kubectl.ok('apply -f -', definition(spec, {categories: ['all']})),
      'customresourcedefinition.apiextensions.k8s.io/crontabs.example.com configured\n',
    );
    t.regex(
      await kubectl.ok('api-resources --api-group=example.com -o wide'),
      /crontabs +ct +example\.com\/v1 +true +CronTab +delete,deletecollection,get,list,patch,create,update,watch +all/,
    );
    t.is(
      await kubectl.ok('delete crd crontabs.example.com --timeout=20s'),
      'customresourcedefinition.apiextensions.k8s.io "crontabs.example.com" deleted\n',
    );
    t.is(await kubectl.ok('api-resources --api-group=example.com -o name'), '');
    rmSync(directory, {recursive: true, force: true});
  },
);

(hasKubectl() ? test : test.skip)('kubectl writes custom resources in every way, prints them, and waits for finalizers', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-custom-'));
  const settings = join(directory, 'settings.yaml');
  await using _ = await startPlane({naming: 'kubernetes', kubeconfig: settings, controllerManagerArgs: ['--controllers=']});
  using kubectl = new Kubectl(settings);
  const both = `${definition(spec, {categories: ['all']})}${crontab('first')}`;
  const early = await kubectl.try('create -f -', both);
  t.is(early.stdout, 'customresourcedefinition.apiextensions.k8s.io/crontabs.example.com created\n');
  t.regex(early.stderr, /no matches for kind "CronTab" in version "example\.com\/v1"\s+ensure CRDs are installed first/);
  await kubectl.ok('wait --for=condition=Established crd/crontabs.example.com --timeout=10s');
  t.is(await kubectl.ok('apply -f -', crontab('first')), 'crontab.example.com/first created\n', 'what was just defined is discovered');

  t.regex(await kubectl.ok('explain crontabs --recursive'), /spec\t<[^>]+>[^]*replicas\t<integer>[^]*schedule\t<string> -required-/);
  const {code, stdout} = await kubectl.try('diff -f -', crontab('first', {schedule: '1 * * * *'}));
  t.is(code, 1);
  t.regex(stdout, /^-  schedule: '?\* \* \* \* \*'?$[^]*^\+  schedule: 1 \* \* \* \*$/m);
  t.is(await kubectl.ok('label ct first tier=a'), 'crontab.example.com/first labeled\n');
  t.is(await kubectl.ok('annotate ct first why=so'), 'crontab.example.com/first annotated\n');
  const whole = JSON.parse(await kubectl.ok('get ct first -o json')) as {spec: object};
  t.is(
    await kubectl.ok('replace -f -', JSON.stringify({...whole, spec: {...whole.spec, replicas: 4}})),
    'crontab.example.com/first replaced\n',
  );
  t.regex(
    (await kubectl.try('replace -f -', JSON.stringify({...whole, spec: {...whole.spec, replicas: 1}}))).stderr,
    /Operation cannot be fulfilled on crontabs\.example\.com "first": the object has been modified/,
  );
  t.regex(
    (await kubectl.try('patch ct first --type=merge -p {"spec":{"replicas":"x"}}')).stderr,
    /spec\.replicas: Invalid value: "string": spec\.replicas in body must be of type integer: "string"/,
  );
  t.is(await kubectl.ok('get ct -l tier=a -o custom-columns=N:.metadata.name,R:.spec.replicas'), 'N       R\nfirst   4\n');
  t.regex(await kubectl.ok('get ct first -o yaml'), /^spec:\n  replicas: 4\n  schedule: '\* \* \* \* \*'$/m);
  t.regex(await kubectl.ok('get ct first -o wide'), /^NAME +SCHEDULE +REPLICAS\nfirst +\* \* \* \* \* +4\n/);
  t.regex(await kubectl.ok('get all'), /crontab\.example\.com\/first/);
  t.regex(await kubectl.ok('describe ct first'), /^Kind: +CronTab$[^]*Replicas: +4$/m);
  await kubectl.ok('patch ct first --subresource=status --type=merge -p {"status":{"replicas":4}}');
  t.is(await kubectl.ok('wait ct/first --for=jsonpath={.status.replicas}=4 --timeout=10s'), 'crontab.example.com/first condition met\n');

  await kubectl.ok('patch ct first --type=merge -p {"metadata":{"finalizers":["example.com/held"]}}');
  t.is((await kubectl.try('delete ct first --timeout=300ms')).code, 1);
  t.regex(await kubectl.ok('get ct first -o jsonpath={.metadata.deletionTimestamp}'), /^\d{4}-/);
  await kubectl.ok('patch ct first --type=json -p [{"op":"remove","path":"/metadata/finalizers"}]');
  t.is(await kubectl.ok('wait ct/first --for=delete --timeout=10s'), '');
  rmSync(directory, {recursive: true, force: true});
});

(hasKubectl() ? test : test.skip)(
  'kubectl gets, describes, applies, explains, compares, waits for, patches and deletes custom resources in the other vocabulary',
  async t => {
    const directory = mkdtempSync(join(tmpdir(), 'plat-custom-'));
    const settings = join(directory, 'settings.yaml');
    await using _ = await startPlane({naming: 'plat', kubeconfig: settings, controllerManagerArgs: ['--controllers=']});
    using kubectl = new Kubectl(settings);
    t.is(
      await kubectl.ok('apply -f -', definition().replace('apiextensions.k8s.io', 'apiextensions.plat.io')),
      'customresourcedefinition.apiextensions.plat.io/crontabs.example.com created\n',
    );
    await kubectl.ok('wait --for=condition=Established crd/crontabs.example.com --timeout=10s');
    t.is(await kubectl.ok('apply -f -', crontab('daily')), 'crontab.example.com/daily created\n');
    t.deepEqual(table(await kubectl.ok('get ct')), {columns: ['NAME', 'SCHEDULE', 'REPLICAS'], rows: {daily: ['* * * * *', '2']}});
    t.regex(await kubectl.ok('explain ct.spec'), /schedule\t<string> -required-\s+When it runs\./);
    t.regex((await kubectl.try('diff -f -', crontab('daily', {replicas: 5}))).stdout, /^\+  replicas: 5$/m);
    await kubectl.ok('patch ct daily --type=merge -p {"spec":{"replicas":3}}');
    t.is(await kubectl.ok('wait ct/daily --for=jsonpath={.spec.replicas}=3 --timeout=10s'), 'crontab.example.com/daily condition met\n');
    t.regex(await kubectl.ok('describe ct daily'), /^Kind: +CronTab$/m);
    t.is(await kubectl.ok('delete ct daily'), 'crontab.example.com "daily" deleted\n');
    rmSync(directory, {recursive: true, force: true});
  },
);
