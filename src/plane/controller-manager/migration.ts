import {canonicalController} from '#src/options/controller-names.js';
import type {Naming} from '#src/api/naming.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {list, record, text} from '#src/apiserver/configuration/fields.js';

/** The assignment of controllers to managers (upstream's leader migration, KEP-2436). */
export interface Migration {
  /** The lock under which they run. */
  readonly leaderName: string;
  /** Whether a controller runs under that lock, under the manager's own, or not in this manager. */
  placeOf(controller: string): 'migrated' | 'own' | 'elsewhere';
}

interface Configuration {
  readonly leaderName?: string;
  readonly resourceLock?: string;
  readonly controllerLeaders?: readonly {readonly name?: string; readonly component?: string}[];
}

const anyComponent = '*';

/** The default: the controllers that a cloud controller manager takes over. */
const defaultConfiguration: Configuration = {
  leaderName: 'cloud-provider-extraction-migration',
  resourceLock: 'leases',
  controllerLeaders: ['node-route-controller', 'service-lb-controller', 'cloud-node-lifecycle-controller'].map(name => ({
    name,
    component: anyComponent,
  })),
};

const problemIn = ({leaderName, resourceLock, controllerLeaders = []}: Configuration): string | undefined => {
  if (!leaderName) return 'leaderName must be set';
  if (resourceLock !== 'leases') return `resourceLock must be leases, not ${JSON.stringify(resourceLock ?? '')}`;
  for (const [i, {name, component}] of controllerLeaders.entries()) {
    if (!name) return `controllerLeaders[${i}].name must be set`;
    if (!component) return `controllerLeaders[${i}].component must be set`;
  }
  return undefined;
};

/**
 * Reads a configuration, or returns the default. Throws an error of one line. `component` is this manager's name in it.
 */
export const migrationOf = (source: string | undefined, naming: Naming, component: string): Migration => {
  const given =
    source === undefined
      ? defaultConfiguration
      : readConfiguration<Configuration>(source, [
          {
            group: `controllermanager.${naming.group('config')}`,
            versions: ['v1beta1', 'v1alpha1', 'v1'],
            kind: 'LeaderMigrationConfiguration',
            fields: {leaderName: text, resourceLock: text, controllerLeaders: list(record({name: text, component: text}))},
          },
        ]);
  const configuration = {...given, resourceLock: given.resourceLock ?? 'leases'};
  const problem = problemIn(configuration);
  if (problem) throw new Error(problem);
  const leaders = new Map(
    (configuration.controllerLeaders ?? []).map(({name, component: of}) => [canonicalController(name!) ?? name!, of!]),
  );
  return {
    leaderName: configuration.leaderName!,
    placeOf(controller) {
      const of = leaders.get(controller);
      if (of === undefined) return 'own';
      return of === component || of === anyComponent ? 'migrated' : 'elsewhere';
    },
  };
};
