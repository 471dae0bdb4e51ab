// Draws the graph around an object: a column for each step away from it.

import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {visible} from '#page/base/visible.js';
import {messageOf} from '#src/base/message.js';
import type {Resource} from '#page/api/kinds.js';
import type {AnyObject} from '#page/api/objects.js';
import {objectHref} from '#page/objects/hrefs.js';
import {Notice, Status} from '#page/ui/parts.js';
import {unreadText} from './dependents.js';
import {readGraph, type GraphModel, type GraphNode} from './model.js';

const [width, height, gapX, gapY, margin] = [216, 54, 92, 14, 12];

interface Placed extends GraphNode {
  readonly x: number;
  readonly y: number;
}

/** Places the nodes of each column below each other, close to those they are joined with. */
const placed = ({nodes, edges}: GraphModel): ReadonlyMap<string, Placed> => {
  const levels = [...new Set(nodes.map(({level}) => level))].sort((one, other) => one - other);
  const tallest = Math.max(...levels.map(level => nodes.filter(each => each.level === level).length));
  const all = tallest * (height + gapY);
  const places = new Map<string, Placed>();
  const middle = (id: string): number => {
    const near = edges.flatMap(({from, to}) => (from === id ? [to] : to === id ? [from] : [])).flatMap(other => places.get(other)?.y ?? []);
    return near.length === 0 ? 0 : near.reduce((sum, y) => sum + y, 0) / near.length;
  };
  // From the object outwards, so that each column finds the one before it in place.
  for (const level of [...levels].sort((one, other) => Math.abs(one) - Math.abs(other))) {
    const own = nodes
      .filter(each => each.level === level)
      .sort(
        (one, other) =>
          middle(one.id) - middle(other.id) ||
          one.resource.plural.localeCompare(other.resource.plural) ||
          one.name.localeCompare(other.name),
      );
    const top = (all - own.length * (height + gapY)) / 2;
    for (const [index, node] of own.entries())
      places.set(node.id, {...node, x: margin + levels.indexOf(level) * (width + gapX), y: margin + top + index * (height + gapY)});
  }
  return places;
};

function Node({node: {x, y, resource, namespace, name, health, isMissing, level}}: {readonly node: Placed}) {
  return (
    <a
      class={`node ${level === 0 ? 'root' : ''} ${isMissing ? 'missing' : ''}`}
      href={objectHref(resource, namespace, name, 'graph')}
      style={{left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px`}}
      title={health?.message}
    >
      <small>{resource.kind}</small>
      <b>{visible(name)}</b>
      {isMissing ? <Status of="does not exist" tone="bad" /> : health ? <Status of={health.word} tone={health.tone} /> : null}
    </a>
  );
}

const curve = (from: Placed, to: Placed): string => {
  const isForward = to.x > from.x;
  const [x1, x2] = isForward ? [from.x + width, to.x] : [from.x, to.x + width];
  const [y1, y2] = [from.y + height / 2, to.y + height / 2];
  const bend = (x2 - x1) / 2;
  return `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
};

export function Graph({
  place: {resource, namespace, name},
  object,
}: {
  readonly place: {readonly resource: Resource; readonly namespace: string; readonly name: string};
  readonly object: AnyObject;
}) {
  const [model, setModel] = useState<GraphModel>();
  const [error, setError] = useState('');
  const {resourceVersion} = object.metadata;
  useEffect(() => {
    const closed = new AbortController();
    const {signal} = closed;
    readGraph(resource, object, signal).then(
      read => {
        setModel(read);
        setError('');
      },
      (failure: unknown) => signal.aborted || setError(messageOf(failure)),
    );
    return () => closed.abort();
  }, [resource, namespace, name, resourceVersion]);
  const places = useMemo(() => (model ? placed(model) : new Map<string, Placed>()), [model]);
  const scroller = useRef<HTMLDivElement>(null);
  const isRead = model !== undefined;
  // Between many others the object itself may be far from the top.
  useLayoutEffect(() => {
    const element = scroller.current;
    const root = [...places.values()].find(({level}) => level === 0);
    if (!element || !root) return;
    element.scrollTop = root.y + (height - element.clientHeight) / 2;
    element.scrollLeft = root.x + (width - element.clientWidth) / 2;
  }, [isRead, resource, namespace, name]);
  if (!model) return error ? <Notice tone="bad">{error}</Notice> : <Notice>Reading…</Notice>;
  const all = [...places.values()];
  const size = {width: Math.max(...all.map(({x}) => x)) + width + margin, height: Math.max(...all.map(({y}) => y)) + height + margin};
  return (
    <div class="graph-view">
      {error ? <Notice tone="bad">{error}</Notice> : null}
      {model.omitted > 0 || model.unread.length > 0 ? (
        <Notice>
          {model.omitted > 0 ? `${model.omitted} more are not shown. ` : ''}
          {model.unread.length > 0 ? unreadText(model.unread) : ''}
        </Notice>
      ) : null}
      <div class="graph" ref={scroller} tabIndex={0} role="group" aria-label={`Graph of ${name}`}>
        <div style={{width: `${size.width}px`, height: `${size.height}px`}}>
          <svg width={size.width} height={size.height} aria-hidden="true">
            <defs>
              <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0,0 L8,4 L0,8 z" />
              </marker>
            </defs>
            {model.edges.map(({from, to, why}) => {
              const [start, end] = [places.get(from), places.get(to)];
              if (!start || !end) return null;
              const isForward = end.x > start.x;
              return (
                <g key={`${from} ${to} ${why}`} class={why === 'owns' ? 'owns' : 'refers'}>
                  <path d={curve(start, end)} marker-end="url(#arrow)" />
                  {why === 'owns' ? null : (
                    <text
                      x={isForward ? end.x - 10 : end.x + width + 10}
                      y={end.y + height / 2 - 5}
                      text-anchor={isForward ? 'end' : 'start'}
                    >
                      {why}
                    </text>
                  )}
                </g>
              );
            })}
          </svg>
          {all.map(node => (
            <Node key={node.id} node={node} />
          ))}
        </div>
      </div>
      <ul class="unseen">
        {model.edges.map(({from, to, why}) => (
          <li key={`${from} ${to} ${why}`}>
            {places.get(from)?.name} {why} {places.get(to)?.name}
          </li>
        ))}
      </ul>
    </div>
  );
}
