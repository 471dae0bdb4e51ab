import test from 'ava';
import {naming} from '#src/api/naming.js';
import {migrationOf} from '#src/plane/controller-manager/migration.js';

const words = naming('plat');
const file = (body: object) =>
  JSON.stringify({apiVersion: `controllermanager.${words.group('config')}/v1alpha1`, kind: 'LeaderMigrationConfiguration', ...body});
const of = (body: object) => migrationOf(file(body), words, 'plat-controller-manager');

test('without a file the controllers of clouds move', t => {
  const migration = migrationOf(undefined, words, 'plat-controller-manager');

  t.is(migration.leaderName, 'cloud-provider-extraction-migration');
  t.deepEqual(
    ['node-route-controller', 'service-lb-controller', 'cloud-node-lifecycle-controller', 'job-controller'].map(migration.placeOf),
    ['migrated', 'migrated', 'migrated', 'own'],
  );
});

test('controllers listed for this component or any migrate, those listed for another run elsewhere, aliases included', t => {
  const {placeOf} = of({
    leaderName: 'l',
    resourceLock: 'leases',
    controllerLeaders: [
      {name: 'job', component: 'plat-controller-manager'},
      {name: 'ttl-controller', component: '*'},
      {name: 'cronjob', component: 'other'},
    ],
  });

  t.deepEqual(['job-controller', 'ttl-controller', 'cronjob-controller', 'namespace-controller'].map(placeOf), [
    'migrated',
    'migrated',
    'elsewhere',
    'own',
  ]);
});

const bad: readonly [object, RegExp][] = [
  [{resourceLock: 'leases'}, /leaderName must be set/],
  [{leaderName: 'l', resourceLock: 'endpoints'}, /resourceLock must be leases, not "endpoints"/],
  [{leaderName: 'l', controllerLeaders: [{component: 'x'}]}, /controllerLeaders\[0\]\.name must be set/],
  [{leaderName: 'l', controllerLeaders: [{name: 'job'}]}, /controllerLeaders\[0\]\.component must be set/],
  [{leaderName: 'l', extra: 1}, /unknown field "extra"/],
];
for (const [body, message] of bad) test(`refuses ${JSON.stringify(body)}`, t => void t.throws(() => of(body), {message}));
