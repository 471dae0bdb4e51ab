import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {notFound} from '#src/api/status.js';
import {nameColumn} from '#src/resources/columns.js';
import {defineResource, type ComponentHealth} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';

type ComponentStatus = ObjectOf<typeof kinds.componentStatuses>;

const statusOf = ({name, healthy, message, error}: ComponentHealth): ComponentStatus => ({
  metadata: {name},
  conditions: [
    {
      type: 'Healthy',
      status: healthy === undefined ? 'Unknown' : healthy ? 'True' : 'False',
      ...(message ? {message} : {}),
      ...(error ? {error} : {}),
    },
  ],
});

const healthOf = ({conditions = []}: Readonly<ComponentStatus>) => conditions.find(({type}) => type === 'Healthy');

/** ComponentStatus: the health of other control plane components, checked on read. Never stored; deprecated. */
export const componentStatuses = defineResource<ComponentStatus>({
  kind: kinds.componentStatuses,
  discovery: {shortNames: ['cs']},
  served: {deprecation: {since: 'v1.19'}},
  metadata: {nameProblems: pathSegmentName},
  main: {writes: {update: []}},
  virtual: {
    list: async ({components}) => (await components()).map(statusOf),
    async get(name, {components}) {
      const found = (await components()).find(component => component.name === name);
      if (!found) throw notFound({group: '', resource: 'componentstatus'}, name);
      return statusOf(found);
    },
  },
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'Status',
        description: 'Whether the component is well.',
        of: status => ({True: 'Healthy', False: 'Unhealthy'})[healthOf(status)?.status ?? ''] ?? 'Unknown',
      },
      {name: 'Message', description: 'What it said.', of: status => healthOf(status)?.message ?? ''},
      {name: 'Error', description: 'Why it could not be asked.', of: status => healthOf(status)?.error ?? ''},
    ],
  },
});
