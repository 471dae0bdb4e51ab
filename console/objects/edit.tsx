// Editing: the text, then the difference that the server makes of it without writing anything, then the write.

import {useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {useKeys} from '#page/base/keys.js';
import {messageOf} from '#src/base/message.js';
import type {Resource} from '#page/api/kinds.js';
import {replaceObject, type AnyObject} from '#page/api/objects.js';
import {Difference, Editor} from '#page/ui/code.js';
import {Notice, say} from '#page/ui/parts.js';
import {withoutManaged} from './owned-yaml.js';
import {yamlText} from './yaml.js';

interface EditProps {
  readonly place: {readonly resource: Resource; readonly namespace: string; readonly name: string};
  readonly object: AnyObject;
  done(): void;
}

/** What the server would store, in the form in which it is shown. */
const shown = (object: AnyObject): string => {
  const clean = withoutManaged(object);
  const {resourceVersion: _, ...metadata} = clean.metadata;
  return yamlText({...clean, metadata});
};

export function Edit({place: {resource, namespace, name}, object, done}: EditProps) {
  const [base] = useState(object);
  const original = useMemo(() => yamlText(withoutManaged(base)), [base]);
  const [draft, setDraft] = useState(original);
  const [initial, setInitial] = useState(original);
  const [tried, setTried] = useState<AnyObject>();
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const isStale = object.metadata.resourceVersion !== base.metadata.resourceVersion;

  const run = async (isDryRun: boolean): Promise<void> => {
    setBusy(true);
    setError('');
    try {
      const result = await replaceObject(resource, namespace, name, draft, isDryRun);
      if (isDryRun) setTried(result);
      else {
        say(`${name} is written.`);
        done();
      }
    } catch (failure) {
      setError(messageOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const back = (): void => {
    setInitial(draft);
    setTried(undefined);
  };
  const tryOut = () => void run(true);
  useKeys({
    Escape: () => (tried ? back() : done()),
  });
  // The text that had the focus is gone; at once, as the next key may follow before the verdict is painted.
  const verdict = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => verdict.current?.focus(), [tried]);
  const [before, after] = tried ? [shown(base), shown(tried)] : ['', ''];
  return (
    <div class="edit">
      <div class="bar">
        {tried ? (
          <>
            <span ref={verdict} tabIndex={-1}>
              {before === after ? 'The server would change nothing.' : 'What the server would change:'}
            </span>
            <span class="spacer" />
            <button type="button" onClick={back}>
              Back to the text
            </button>
            <button type="button" class="primary" disabled={isBusy || before === after} onClick={() => void run(false)}>
              Write
            </button>
          </>
        ) : (
          <>
            <span>Escape, then Tab leaves the text. Nothing is written before the next step.</span>
            <span class="spacer" />
            <button type="button" onClick={done}>
              Cancel
            </button>
            <button type="button" class="primary" disabled={isBusy} onClick={tryOut} title="Ctrl-S">
              Try it
            </button>
          </>
        )}
      </div>
      {error ? <Notice tone="bad">{error}</Notice> : null}
      {isStale ? (
        <Notice tone="waiting">
          The object has changed since you began: the server will refuse this text. Copy what you need and begin again.
        </Notice>
      ) : null}
      {tried ? <Difference before={before} after={after} /> : <Editor text={initial} changed={setDraft} save={tryOut} />}
    </div>
  );
}
