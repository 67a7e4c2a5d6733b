// Marks cells that are out of date, in JupyterLab 4 and Notebook 7. Nothing is built: this file is the whole extension.
//
// After a cell has run, it asks the kernel for the marks, in a silent request that is no cell and has no number. A kernel
// without `%load_ext forward_lineage` answers with an error, and then nothing is marked. So there is no connection to
// keep: closed pages, other pages on the same notebook and kernels that start again need nothing of their own.
"use strict";
(() => {
  const ASK = "get_ipython()._forward_lineage_watching.marks()";
  const KINDS = ["stale", "fresh", "refresher"];
  const PAUSE = 200; // milliseconds without a cell that ends, before the kernel is asked
  const STYLE = `
    .forward-lineage-stale, .forward-lineage-fresh, .forward-lineage-refresher { border-left: 4px solid; }
    .forward-lineage-stale { border-left-color: var(--jp-error-color1, #d32f2f); }
    .forward-lineage-fresh { border-left-color: var(--jp-warn-color1, #f57c00); }
    .forward-lineage-refresher { border-left-color: var(--jp-success-color1, #388e3c); }
    /* Notebook 7 has an empty ::before of its own, beside the cell. */
    [data-forward-lineage]::before { content: attr(data-forward-lineage) !important; display: block !important;
      position: static !important; height: auto !important; width: auto !important; padding: 0 0 2px 8px;
      font: var(--jp-ui-font-size0, 11px) var(--jp-ui-font-family, sans-serif); color: var(--jp-ui-font-color2, #616161); }`;

  /** Mark the cells of a notebook; marks: id of a cell → {kind, said}. */
  function mark(panel, marks) {
    for (const cell of panel.content.widgets) {
      const found = marks[cell.model.id];
      for (const kind of KINDS) cell.node.classList.toggle(`forward-lineage-${kind}`, found?.kind === kind);
      if (found) cell.node.dataset.forwardLineage = found.said; // shown as text, whatever is in it
      else delete cell.node.dataset.forwardLineage;
    }
  }

  function watch(panel) {
    const asked = new Set(); // ids of our own requests, whose end is that of no cell
    let waiting = 0;
    const ask = () => {
      const kernel = panel.sessionContext.session?.kernel;
      if (!kernel || panel.isDisposed) return;
      const request = kernel.requestExecute(
        { code: "", silent: true, store_history: false, allow_stdin: false, user_expressions: { marks: ASK } },
        true,
      );
      asked.add(request.msg.header.msg_id);
      request.done.then(
        (reply) => mark(panel, reply.content.user_expressions?.marks?.data?.["application/json"] ?? {}),
        () => {}, // the kernel went away
      );
    };
    const soon = () => {
      window.clearTimeout(waiting);
      waiting = window.setTimeout(ask, PAUSE);
    };
    panel.sessionContext.iopubMessage.connect((_, message) => {
      const parent = message.parent_header;
      const state = message.header.msg_type === "status" ? message.content.execution_state : "";
      if (state === "starting") mark(panel, {}); // somebody else has restarted the kernel
      const ended = state === "idle";
      if (ended && parent.msg_type === "execute_request" && !asked.delete(parent.msg_id)) soon();
    });
    panel.sessionContext.kernelChanged.connect(() => mark(panel, {}));
    panel.sessionContext.statusChanged.connect((_, status) => {
      if (status.endsWith("restarting")) mark(panel, {});
    });
    panel.sessionContext.ready.then(soon); // a page that is opened on a kernel that has run cells
  }

  const plugin = {
    id: "forward_lineage:marks",
    description: "Marks cells that are out of date.",
    autoStart: true,
    activate: (app) => {
      document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
      const watched = new WeakSet();
      const look = () => {
        for (const panel of app.shell.widgets("main")) {
          if (watched.has(panel) || !panel.sessionContext || !panel.content?.widgets) continue;
          watched.add(panel);
          watch(panel);
        }
      };
      app.shell.currentChanged?.connect(look);
      app.restored.then(look);
    },
  };

  // What JupyterLab expects of a file that webpack has made.
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.forward_lineage = {
    init: async () => {},
    get: async () => () => ({ __esModule: true, default: plugin }),
  };
})();
