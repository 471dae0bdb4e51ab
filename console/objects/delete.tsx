// Deleting, after a look at what goes along.

import {useEffect, useState} from 'preact/hooks';
import {visible} from '#page/base/visible.js';
import {messageOf} from '#src/base/message.js';
import type {Resource} from '#page/api/kinds.js';
import {deleteObject, type Propagation} from '#page/api/objects.js';
import {dependentsOf, unreadText, type Dependents} from '#page/graph/dependents.js';
import {Dialog, Notice, say} from '#page/ui/parts.js';

interface DeleteProps {
  readonly resource: Resource;
  readonly of: {readonly namespace: string; readonly name: string; readonly uid: string};
  close(): void;
}

const shownNames = 40;

function Along({found, isOrphaning}: {readonly found: Dependents; readonly isOrphaning: boolean}) {
  const {dependents, unread} = found;
  const kinds = [...new Set(dependents.map(({resource}) => resource))];
  const missing = unread.length > 0 ? <Notice tone="waiting">There may be more. {unreadText(unread)}</Notice> : null;
  if (dependents.length === 0)
    return (
      <>
        <Notice>{missing ? 'Nothing that goes along was found.' : 'Nothing else goes along.'}</Notice>
        {missing}
      </>
    );
  return (
    <div class="along">
      <p>{isOrphaning ? 'These stay, without an owner' : 'These go along'}:</p>
      <ul>
        {kinds.map(kind => {
          const own = dependents.filter(({resource}) => resource === kind);
          return (
            <li key={`${kind.group}/${kind.plural}`}>
              <b>
                {own.length} {kind.plural}
              </b>
              <small>
                {' '}
                {own
                  .slice(0, shownNames)
                  .map(({metadata}) => visible(metadata.name))
                  .join(', ')}
                {own.length > shownNames ? ' …' : ''}
              </small>
            </li>
          );
        })}
      </ul>
      {missing}
    </div>
  );
}

export function DeleteDialog({resource, of, close}: DeleteProps) {
  const [found, setFound] = useState<Dependents>();
  const [policy, setPolicy] = useState<Propagation>('Background');
  const [error, setError] = useState('');
  useEffect(() => {
    const closed = new AbortController();
    dependentsOf(resource, of, closed.signal).then(setFound, (failure: unknown) => closed.signal.aborted || setError(messageOf(failure)));
    return () => closed.abort();
  }, []);
  const remove = (): void => {
    deleteObject(resource, of, policy).then(
      () => {
        say(`${of.name} is being deleted.`);
        close();
      },
      (failure: unknown) => setError(messageOf(failure)),
    );
  };
  return (
    <Dialog title={visible(`Delete ${resource.plural} ${of.namespace ? `${of.namespace}/` : ''}${of.name}`)} close={close}>
      {found ? <Along found={found} isOrphaning={policy === 'Orphan'} /> : error ? null : <Notice>Looking for what goes along…</Notice>}
      {error ? <Notice tone="bad">{error}</Notice> : null}
      <fieldset>
        <legend>What depends on it</legend>
        {(
          [
            ['Background', 'is deleted after it'],
            ['Foreground', 'is deleted before it'],
            ['Orphan', 'stays'],
          ] as const
        ).map(([value, text]) => (
          <label key={value}>
            <input type="radio" name="policy" checked={policy === value} onChange={() => setPolicy(value)} /> {text} <small>{value}</small>
          </label>
        ))}
      </fieldset>
      <footer>
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={remove}>
          Delete
        </button>
      </footer>
    </Dialog>
  );
}
