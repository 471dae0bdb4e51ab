import {useMemo} from 'preact/hooks';
import type {ControllerState} from '#src/observe/controller-states.js';
import {useCell} from '#page/base/cell.js';
import {bytes, rate, seconds} from '#page/base/format.js';
import {moment} from '#page/base/moment.js';
import {kindOf, type Resource} from '#page/api/kinds.js';
import type {TableState} from '#page/api/table.js';
import {cellOf, EventTable} from '#page/objects/event-table.js';
import {listHref} from '#page/objects/hrefs.js';
import {useTable} from '#page/objects/list.js';
import {ReadingNotices} from '#page/ui/reading-notices.js';
import {namespace} from '#page/shell/namespaces.js';
import {Notice, Panel, Status, toneOf} from '#page/ui/parts.js';
import {Plot} from './plot.js';
import {useSampling, type Sampling} from './sampling.js';

function Figure({name, value, title}: {readonly name: string; readonly value: string; readonly title?: string}) {
  return (
    <div class="figure" title={title}>
      <b>{value}</b>
      <span>{name}</span>
    </div>
  );
}

/** How many objects have each status, as a bar and in words. */
function ByStatus({resource, state}: {readonly resource: Resource; readonly state: TableState}) {
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const row of state.rows) {
      const status = cellOf(state, row, 'Status');
      found.set(status, (found.get(status) ?? 0) + 1);
    }
    return [...found].sort(([, one], [, other]) => other - one);
  }, [state]);
  if (state.error) return <Notice tone="bad">{state.error}</Notice>;
  return (
    <div class="by-status">
      <a class="sum" href={listHref(resource)}>
        {state.rows.length.toLocaleString('en')}
      </a>
      <div class="statuses">
        <div class="stack" aria-hidden="true">
          {counts.map(([status, count]) => (
            <span key={status} class={toneOf(status)} style={{flexGrow: String(count)}} />
          ))}
        </div>
        <ul>
          {counts.slice(0, 6).map(([status, count]) => (
            <li key={status}>
              <a href={listHref(resource, status)}>
                <Status of={status} /> {count.toLocaleString('en')}
              </a>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function Controllers({controllers}: {readonly controllers: readonly ControllerState[]}) {
  if (controllers.length === 0)
    return (
      <Notice>The process of the API server has no controllers: what their queues do is on the metrics ports of their own programs.</Notice>
    );
  return (
    <div class="scrolling tall" tabIndex={0} role="region" aria-label="Controllers">
      <table>
        <thead>
          <tr>
            <th>Controller</th>
            <th class="number" title="Keys that wait">
              Queue
            </th>
            <th class="number" title="Keys that were added">
              Added
            </th>
            <th class="number" title="Keys that were added again after a time, as after an error">
              Retries
            </th>
            <th class="number" title="Reconciles that failed">
              Errors
            </th>
            <th class="number" title="How long half of the keys waited at most">
              Wait
            </th>
            <th class="number" title="How long half of the reconciles took at most">
              Work
            </th>
            <th class="number" title="How long 99 % of the reconciles took at most">
              Work 99 %
            </th>
          </tr>
        </thead>
        <tbody>
          {controllers.map(each => (
            <tr key={each.name} class={each.adds === 0 ? 'quiet' : ''}>
              <td>{each.name}</td>
              <td class={`number ${each.depth > 0 ? 'marked' : ''}`}>{each.depth}</td>
              <td class="number">{each.adds.toLocaleString('en')}</td>
              <td class="number">{each.retries.toLocaleString('en')}</td>
              <td class={`number ${each.errors > 0 ? 'marked' : ''}`}>{each.errors}</td>
              <td class="number">{seconds(each.waits)}</td>
              <td class="number">{seconds(each.works)}</td>
              <td class="number">{seconds(each.worksMost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const series = [
  {label: 'reads', colour: '--accent'},
  {label: 'writes', colour: '--good'},
  {label: 'refused', colour: '--bad'},
];

function Requests({sampling}: {readonly sampling: Sampling | undefined}) {
  const data = sampling?.rates ?? [[], [], [], []];
  const [, reads, writes, refused] = data;
  const last = (values: readonly number[]) => (values.length === 0 ? '–' : rate(values.at(-1)!));
  return (
    <>
      <div class="figures">
        <Figure name="reads/s" value={last(reads)} />
        <Figure name="writes/s" value={last(writes)} />
        <Figure name="refused/s" value={last(refused)} title="Requests with a status from 400 on" />
        <Figure
          name="99 % within"
          value={sampling ? seconds(sampling.latencyMost) : '–'}
          title="Of the last two seconds, without watches"
        />
        <Figure name="in flight" value={sampling ? String(sampling.inflight) : '–'} />
        <Figure name="watches" value={sampling ? String(sampling.watches) : '–'} />
        <Figure name="objects" value={sampling ? sampling.objects.toLocaleString('en') : '–'} />
        <Figure name="memory" value={sampling ? bytes(sampling.memory) : '–'} />
        <Figure name="loop 99 %" value={sampling ? seconds(sampling.loopLag) : '–'} title="Delay of the event loop" />
      </div>
      <Plot label="Requests a second, over up to five minutes" series={series} data={data} format={rate} />
    </>
  );
}

/** What the cluster is doing now. */
export function Overview() {
  const chosen = useCell(namespace);
  const kinds = useMemo(() => ({pods: kindOf('pods')!, nodes: kindOf('nodes')!, events: kindOf('events')!}), []);
  const pods = useTable(kinds.pods, chosen);
  const nodes = useTable(kinds.nodes, '');
  const warnings = useTable(kinds.events, chosen, '', 'type=Warning');
  const sampling = useSampling();
  const isPast = useCell(moment) !== undefined;
  return (
    <div class="overview">
      <h1 class="unseen">Overview</h1>
      <ReadingNotices state={{behind: pods.behind ?? nodes.behind ?? warnings.behind}} />
      <Panel title="Nodes">
        <ByStatus resource={kinds.nodes} state={nodes} />
      </Panel>
      <Panel title={chosen ? `Pods in ${chosen}` : 'Pods'}>
        <ByStatus resource={kinds.pods} state={pods} />
      </Panel>
      {isPast ? (
        <Notice>Requests and queues are only known of now.</Notice>
      ) : (
        <>
          <Panel title="Requests" class="wide">
            {sampling?.error ? <Notice tone="bad">{sampling.error}</Notice> : null}
            <Requests sampling={sampling} />
          </Panel>
          <Panel title="Controllers" class="wide">
            <Controllers controllers={sampling?.controllers ?? []} />
          </Panel>
        </>
      )}
      <Panel title="Last warnings" class="wide" aside={<a href={objectsOfWarnings(kinds.events)}>all</a>}>
        {warnings.error ? <Notice tone="bad">{warnings.error}</Notice> : null}
        {warnings.error && warnings.rows.length === 0 ? null : <EventTable state={warnings} empty="There are no warnings." isShort />}
      </Panel>
    </div>
  );
}

const objectsOfWarnings = (events: Resource): string => listHref(events, 'field:type=Warning');
