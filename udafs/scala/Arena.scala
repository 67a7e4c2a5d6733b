package org.apache.spark.sql.forwardlineage

import java.nio.LongBuffer
import java.nio.channels.FileChannel
import java.nio.file.Path
import java.nio.file.StandardOpenOption.{CREATE_NEW, DELETE_ON_CLOSE, READ, WRITE}

import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

/**
 * Blocks of 4 << k longs (k below `classes`), by address. Released blocks are used again.
 *
 * The memory is asked of Spark. What Spark refuses lies in a file of Spark's local folders, mapped into memory, so a task
 * with more groups than memory gets slower and does not fail. A block of the file is worked on as a copy: `open` it, change
 * `page` from `at` on, `close` it before the next one is opened.
 *
 * @param newFile a path where nothing is yet
 */
private final class Arena(memory: TaskMemoryManager, newFile: () => Path, classes: Int)
    extends MemoryConsumer(memory, MemoryMode.ON_HEAP) {
  import Arena._

  private var pages = new Array[Array[Long]](16) // null where the page lies in the file
  private var mapped = new Array[LongBuffer](16)
  private var pageCount = 0
  private var file: FileChannel = _
  private var top = 0L // first address never used
  private val released = Array.fill(classes)(-1L) // each block of the list holds the address of the next

  // The open block. `page(at)` is its header, whose lower half counts the longs that follow and are in use.
  var page: Array[Long] = _
  var at = 0
  private val copy = new Array[Long](4 << classes - 1)
  private var home: LongBuffer = _ // where an open copy belongs
  private var homeAt = 0

  def open(address: Long): Unit = {
    page = pages((address >>> PageBits).toInt)
    at = (address & PageMask).toInt
    if (page == null) openCopy(address)
  }

  private def openCopy(address: Long): Unit = {
    home = mapped((address >>> PageBits).toInt)
    homeAt = at
    copy(0) = home.get(homeAt)
    home.get(homeAt + 1, copy, 1, math.min(copy(0).toInt, copy.length - 1))
    page = copy
    at = 0
  }

  def close(): Unit = if (page eq copy) home.put(homeAt, copy, 0, copy(0).toInt + 1)

  /** Address of a free block of 4 << k longs; its content is whatever it was, its header 0. */
  def allocate(k: Int): Long = {
    val recycled = released(k)
    if (recycled >= 0) {
      released(k) = get(recycled)
      put(recycled, 0)
      return recycled
    }
    val longs = 4 << k
    if ((top & PageMask) == 0 || (top & PageMask) + longs > PageSize) top = addPage()
    val address = top
    top += longs
    address
  }

  /** Moves the first `n` longs of a block to a new one of the next size, and releases it. */
  def move(from: Long, k: Int, n: Int): Long = {
    open(from)
    val content = if (page eq copy) copy.clone else page
    val contentAt = at
    val to = allocate(k + 1)
    open(to)
    System.arraycopy(content, contentAt, page, at, n)
    close()
    release(from, k)
    to
  }

  def release(address: Long, k: Int): Unit = {
    put(address, released(k))
    released(k) = address
  }

  private def get(address: Long): Long = {
    val heap = pages((address >>> PageBits).toInt)
    val i = (address & PageMask).toInt
    if (heap != null) heap(i) else mapped((address >>> PageBits).toInt).get(i)
  }

  private def put(address: Long, value: Long): Unit = {
    val heap = pages((address >>> PageBits).toInt)
    val i = (address & PageMask).toInt
    if (heap != null) heap(i) = value else mapped((address >>> PageBits).toInt).put(i, value)
  }

  private def addPage(): Long = {
    if (pageCount == pages.length) {
      pages = java.util.Arrays.copyOf(pages, 2 * pageCount)
      mapped = java.util.Arrays.copyOf(mapped, 2 * pageCount)
    }
    val granted = acquireMemory(PageBytes)
    if (granted == PageBytes) pages(pageCount) = new Array[Long](PageSize)
    else {
      freeMemory(granted)
      mapped(pageCount) = mapPage()
    }
    pageCount += 1
    (pageCount - 1L) << PageBits
  }

  private def mapPage(): LongBuffer = {
    if (file == null) file = FileChannel.open(newFile(), CREATE_NEW, READ, WRITE, DELETE_ON_CLOSE)
    file.map(FileChannel.MapMode.READ_WRITE, file.size(), PageBytes).asLongBuffer
  }

  /** Nothing can be given back while groups are alive. */
  override def spill(size: Long, trigger: MemoryConsumer): Long = 0

  def reachesIntoFile: Boolean = file != null

  def free(): Unit = {
    freeMemory(getUsed)
    if (file != null) file.close()
  }
}

private object Arena {
  private val PageBits = 15
  private val PageSize = 1 << PageBits
  private val PageMask = PageSize - 1L
  private val PageBytes = 8L * PageSize
}
