// One object, in several views.

import {useEffect, useState} from 'preact/hooks';
import {useCell} from '#page/base/cell.js';
import {useKeys} from '#page/base/keys.js';
import {moment} from '#page/base/moment.js';
import {go, type Route} from '#page/base/route.js';
import {visible} from '#page/base/visible.js';
import {messageOf} from '#src/base/message.js';
import {ApiError, mayPass} from '#page/api/call.js';
import {collectionPath, type Resource} from '#page/api/kinds.js';
import {readObject, type AnyObject} from '#page/api/objects.js';
import {withFields} from '#page/api/table.js';
import {watch} from '#page/api/watch.js';
import {Request} from '#page/certificates/request.js';
import {Graph} from '#page/graph/graph.js';
import {healthOf} from '#page/graph/health.js';
import {History} from '#page/history/history.js';
import {Exec} from '#page/pods/exec.js';
import {Logs} from '#page/pods/logs.js';
import {Ports} from '#page/pods/ports.js';
import {Notice, Status, Tabs} from '#page/ui/parts.js';
import {DeleteDialog} from './delete.js';
import {Edit} from './edit.js';
import {Events} from './events.js';
import {listHref, objectHref} from './hrefs.js';
import {OwnedYaml} from './owned-yaml.js';
import {ReadingNotices} from '#page/ui/reading-notices.js';

interface Reading {
  readonly object?: AnyObject | undefined;
  readonly error?: string;
  readonly isGone?: boolean;
  /** Why the object does not follow the cluster, or late. */
  readonly behind?: string | undefined;
}

const retryMs = 2000;

/** Follows one object while it is shown. */
const useObject = (resource: Resource, namespace: string, name: string): Reading => {
  const [reading, setReading] = useState<Reading>({});
  const shown = useCell(moment);
  useEffect(() => {
    const closed = new AbortController();
    const {signal} = closed;
    // What was read stays where it cannot be read again: somebody may be about to act on it.
    let known: Reading = {};
    const show = (change: Reading): void => {
      known = {...known, ...change};
      setReading(known);
    };
    const read = async (): Promise<void> => {
      try {
        const object = await readObject(resource, namespace, name, signal);
        const {behind} = known;
        known = {behind};
        show({object});
        follow(object.metadata.resourceVersion ?? '');
      } catch (error) {
        if (signal.aborted) return;
        if (known.object && error instanceof ApiError && error.status === 404) return show({isGone: true});
        show({error: messageOf(error)});
        if (mayPass(error)) setTimeout(() => signal.aborted || void read(), retryMs);
      }
    };
    const follow = (resourceVersion: string): void => {
      if (shown !== undefined || !resource.verbs.includes('watch')) return;
      watch<AnyObject>(
        collectionPath(resource, namespace),
        {fieldSelector: withFields({'metadata.name': name})},
        resourceVersion,
        'application/json',
        signal,
        {
          event(type, object) {
            if (type !== 'BOOKMARK') show({object, isGone: type === 'DELETED'});
            return object.metadata.resourceVersion;
          },
          behind: why => why === known.behind || show({behind: why}),
          ended: afterMs => void setTimeout(() => signal.aborted || void read(), afterMs),
        },
      );
    };
    void read();
    return () => closed.abort();
  }, [resource, namespace, name, shown]);
  return reading;
};

const tabsOf = ({plural, group}: Resource): readonly (readonly [string, string])[] => {
  const isPod = plural === 'pods' && group === '';
  return [
    ...(plural === 'certificatesigningrequests' ? [['request', 'Request'] as const] : []),
    ['yaml', 'YAML'],
    ['graph', 'Graph'],
    ['events', 'Events'],
    ['history', 'History'],
    ...(isPod
      ? ([
          ['logs', 'Logs'],
          ['exec', 'Exec'],
          ['ports', 'Ports'],
        ] as const)
      : []),
  ];
};

interface Place {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

function Tab({id, object, place, done}: {readonly id: string; readonly object: AnyObject; readonly place: Place; done(): void}) {
  switch (id) {
    case 'edit':
      return <Edit place={place} object={object} done={done} />;
    case 'graph':
      return <Graph place={place} object={object} />;
    case 'events':
      return <Events object={object} resource={place.resource} />;
    case 'history':
      return (
        <History scope={{group: place.resource.group, resource: place.resource.plural, namespace: place.namespace, name: place.name}} />
      );
    case 'logs':
      return <Logs pod={object} />;
    case 'exec':
      return <Exec pod={object} />;
    case 'ports':
      return <Ports pod={object} />;
    case 'request':
      return <Request object={object} resource={place.resource} />;
    default:
      return <OwnedYaml object={object} />;
  }
}

export function ObjectPage({resource, namespace, name, at}: Place & {readonly at: Route}) {
  const {object, error, isGone, behind} = useObject(resource, namespace, name);
  const [deleted, setDeleted] = useState<string>();
  const tabs = tabsOf(resource);
  const tab = at.query['tab'] || tabs[0]![0];
  const href = (id: string) => objectHref(resource, namespace, name, id);
  const place = {resource, namespace, name};
  const isPast = useCell(moment) !== undefined;
  const may = (verb: string): boolean => resource.verbs.includes(verb) && !isGone && !isPast;
  const isPod = resource.plural === 'pods' && resource.group === '';
  const startDelete = () => may('delete') && object && setDeleted(object.metadata.uid);
  useKeys({
    e: () => may('update') && go(href('edit')),
    d: startDelete,
    Escape: () => go(tab === tabs[0]![0] ? listHref(resource) : href('')),
    ...(isPod ? {l: () => go(href('logs')), x: () => go(href('exec'))} : {}),
  });
  const health = object && healthOf(object);
  return (
    <div class="object">
      <header class="bar">
        <h1>
          <a href={listHref(resource)}>{resource.plural}</a> / {namespace ? <small>{namespace} / </small> : null}
          {visible(name)}
        </h1>
        {isGone ? <Status of="Deleted" tone="bad" /> : health ? <Status of={health.word} tone={health.tone} /> : null}
        <span class="spacer" />
        {may('update') ? (
          <a class="button" href={href('edit')} title="Edit (e)">
            Edit
          </a>
        ) : null}
        {may('delete') ? (
          <button type="button" class="danger" onClick={startDelete} title="Delete (d)">
            Delete…
          </button>
        ) : null}
      </header>
      <Tabs tabs={tab === 'edit' ? [...tabs, ['edit', 'Edit']] : tabs} now={tab} hrefOf={href} />
      <ReadingNotices state={{error, behind}} />
      {object ? <Tab id={tab} object={object} place={place} done={() => go(href(''))} /> : error ? null : <Notice>Reading…</Notice>}
      {deleted === undefined ? null : (
        <DeleteDialog resource={resource} of={{namespace, name, uid: deleted}} close={() => setDeleted(undefined)} />
      )}
    </div>
  );
}
