import {visible} from '#page/base/visible.js';
import {kindOf} from '#page/api/kinds.js';
import type {ChangeRecord, RecordedObject} from '#page/api/recorder.js';
import {objectHref} from '#page/objects/hrefs.js';
import {Causes, causeText} from './causes.js';

/** A link to an object that a record names, if its kind is known. */
export function ObjectLink({of: {group, resource, namespace, name}}: {readonly of: RecordedObject}) {
  const kind = kindOf(resource, group);
  const text = visible(`${resource} ${namespace ? `${namespace}/` : ''}${name ?? ''}`);
  return kind && name ? <a href={objectHref(kind, namespace, name)}>{text}</a> : <span>{text}</span>;
}

/** A user without what all parts of a cluster have in common. */
export const userText = (user: string): string => user.replace(/^system:(serviceaccount:kube-system:)?/, '');

const valueText = (value: unknown): string =>
  value === undefined ? '—' : visible(typeof value === 'string' ? value : JSON.stringify(value));

/** What a change was, and the way back to what caused it. */
export function ChangeDetails({change, causes}: {readonly change: ChangeRecord; readonly causes: Causes}) {
  const chain = causes.chainOf(change);
  const {changes = [], changesOmitted} = change;
  return (
    <div class="change">
      <p>
        <ObjectLink of={change.object} /> {change.type} by {userText(change.user)}
        {change.manager ? ` (${change.manager})` : ''}, revision {change.revision}
        {change.request ? <small> request {change.request}</small> : null}
      </p>
      {chain.length > 0 ? (
        <ol class="chain">
          {chain.map(({reconcile, cause, change: source}) => (
            <li key={reconcile.seq}>
              <b>{reconcile.controller}</b> {reconcile.key} <small>{reconcile.durationMs.toFixed(1)} ms</small>
              {cause ? (
                <>
                  {' '}
                  because{' '}
                  {source ? (
                    <>
                      <ObjectLink of={source.object} /> was {source.type} by {userText(source.user)}
                    </>
                  ) : (
                    causeText(cause)
                  )}
                </>
              ) : null}
              {reconcile.causes.length > 1 ? <small> and {reconcile.causes.length - 1 + (reconcile.causesOmitted ?? 0)} more</small> : null}
            </li>
          ))}
        </ol>
      ) : null}
      {changes.length > 0 ? (
        <table>
          <tbody>
            {changes.map(({path, before, after}) => (
              <tr key={path}>
                <td>
                  <code>{path}</code>
                </td>
                <td class="message">
                  <del>{valueText(before)}</del>
                </td>
                <td class="message">
                  <ins>{valueText(after)}</ins>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
      {changesOmitted ? <small>and {changesOmitted} more fields</small> : null}
    </div>
  );
}
