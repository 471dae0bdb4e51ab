// An editor of YAML, and the difference between two texts. Both are in a shadow root: what the editor adds as style
// goes there as style sheets that are objects, which the content security policy of the page allows.

import {defaultKeymap, history, historyKeymap, indentWithTab} from '@codemirror/commands';
import {yaml} from '@codemirror/lang-yaml';
import {HighlightStyle, syntaxHighlighting, foldGutter, foldKeymap} from '@codemirror/language';
import {MergeView, unifiedMergeView} from '@codemirror/merge';
import {EditorState, type Extension} from '@codemirror/state';
import {EditorView, highlightActiveLine, keymap, lineNumbers} from '@codemirror/view';
import {tags} from '@lezer/highlight';
import {useLayoutEffect, useRef, useState} from 'preact/hooks';

const look = EditorView.theme({
  '&': {height: '100%', fontSize: '12.5px', backgroundColor: 'var(--ground)', color: 'var(--text)'},
  // What is around it shows the focus: the gutters would be drawn over it.
  '&.cm-focused': {outline: 'none'},
  '.cm-scroller': {fontFamily: 'var(--mono)', lineHeight: '1.5', overflow: 'auto'},
  '.cm-gutters': {backgroundColor: 'var(--surface)', color: 'var(--muted)', border: 'none'},
  '.cm-activeLine, .cm-activeLineGutter': {backgroundColor: 'var(--raised)'},
  '.cm-content': {caretColor: 'var(--text)'},
  '.cm-cursor': {borderLeftColor: 'var(--text)'},
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {backgroundColor: 'var(--selection) !important'},
  '.cm-changedText': {background: 'var(--changed) !important'},
  '.cm-changedLine, .cm-insertedLine': {backgroundColor: 'var(--added) !important'},
  '.cm-deletedChunk, &.cm-merge-a .cm-changedLine': {backgroundColor: 'var(--removed) !important'},
  '.cm-deletedText': {background: 'var(--changed) !important'},
  '.cm-collapsedLines': {background: 'var(--surface) !important', color: 'var(--muted)'},
  '.cm-collapsedLines::before, .cm-collapsedLines::after': {content: '"…" !important'},
});

const colours = syntaxHighlighting(
  HighlightStyle.define([
    {tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--key)'},
    {tag: [tags.string, tags.special(tags.string)], color: 'var(--string)'},
    {tag: [tags.number, tags.bool, tags.null, tags.content], color: 'var(--text)'},
    {tag: [tags.comment, tags.punctuation, tags.separator], color: 'var(--muted)'},
  ]),
);

const common: Extension = [lineNumbers(), yaml(), look, colours, EditorView.contentAttributes.of({'aria-label': 'YAML'})];
const readOnly: Extension = [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({tabindex: '0'}),
];

/** Shows what `make` puts into a shadow root, until the inputs change. */
const useShadow = (make: (root: ShadowRoot) => () => void, inputs: readonly unknown[]) => {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = host.current!;
    const root = element.shadowRoot ?? element.attachShadow({mode: 'open'});
    return make(root);
  }, inputs);
  return host;
};

export function Editor({text, changed, save}: {readonly text: string; changed(text: string): void; save(): void}) {
  const handlers = useRef({changed, save});
  handlers.current = {changed, save};
  const host = useShadow(
    root => {
      const run = () => {
        handlers.current.save();
        return true;
      };
      const view = new EditorView({
        root,
        parent: root,
        doc: text,
        extensions: [
          history(),
          foldGutter(),
          highlightActiveLine(),
          keymap.of([{key: 'Mod-s', run}, {key: 'Mod-Enter', run}, indentWithTab, ...historyKeymap, ...foldKeymap, ...defaultKeymap]),
          EditorView.updateListener.of(update => {
            if (update.docChanged) handlers.current.changed(update.state.doc.toString());
          }),
          common,
        ],
      });
      view.focus();
      return () => view.destroy();
    },
    [text],
  );
  return <div class="code" ref={host} />;
}

const collapse = {margin: 3, minSize: 6};

/**
 * The difference between two texts: side by side where there is room, otherwise below each other. Lines that do not
 * differ are left out, unless they are asked for.
 */
export function Difference({before, after}: {readonly before: string; readonly after: string}) {
  const [isWhole, setWhole] = useState(false);
  const collapsed = isWhole ? {} : {collapseUnchanged: collapse};
  const host = useShadow(
    root => {
      if (innerWidth >= 900) {
        const side = (doc: string) => ({doc, extensions: [common, readOnly]});
        const view = new MergeView({root, parent: root, a: side(before), b: side(after), ...collapsed, gutter: true});
        view.dom.style.height = '100%';
        view.dom.style.overflow = 'auto';
        return () => view.destroy();
      }
      const view = new EditorView({
        root,
        parent: root,
        doc: after,
        extensions: [common, readOnly, unifiedMergeView({original: before, mergeControls: false, ...collapsed})],
      });
      return () => view.destroy();
    },
    [before, after, isWhole],
  );
  return (
    <div class="differing">
      <label>
        <input type="checkbox" checked={isWhole} onChange={event => setWhole(event.currentTarget.checked)} /> All lines
      </label>
      <div class="code" ref={host} />
    </div>
  );
}
